/* SPDX-License-Identifier: MIT */
/* The activations from CONV2D_HARD_SWISH on, for the oracle: the steps of docs/contract.md, one float at a time. */
#ifndef CONV2D_CURVES_H
#define CONV2D_CURVES_H

#include "conv2d.h"

float curve_value(conv2d_activation activation, float x);

#endif
