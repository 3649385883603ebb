/* SPDX-License-Identifier: MIT */
#include "hook.h"

const conv2d_hook *conv2d_hook_in_force;

const conv2d_hook *conv2d_set_hook(const conv2d_hook *hook)
{
    return __atomic_exchange_n(&conv2d_hook_in_force, hook, __ATOMIC_ACQ_REL);
}

void conv2d_hook_begin(const conv2d_hook *hook, conv2d_call *call)
{
    if (hook->begin)
        hook->begin(call, hook->user);
}

void conv2d_hook_end(const conv2d_hook *hook, conv2d_call *call)
{
    if (hook->end)
        hook->end(call, hook->user);
}
