/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share; each defines LLVMFuzzerTestOneInput, for libFuzzer or for replay.c. */
#ifndef CONV2D_STRESS_FUZZ_H
#define CONV2D_STRESS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Ends the program, so that the fuzzer keeps the input, unless the condition holds. */
#define REQUIRE(condition) ((condition) ? (void)0 : fuzz_failed(#condition, __FILE__, __LINE__))
void fuzz_failed(const char *condition, const char *file, int line) __attribute__((noreturn));

/* The bytes as a string, a copy; free it. */
char *fuzz_string(const uint8_t *bytes, size_t size);

#endif
