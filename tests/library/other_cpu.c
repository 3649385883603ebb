/* SPDX-License-Identifier: MIT */
#include "other_cpu.h"

#include <stddef.h>

const cpu_facts *__real_conv2d_cpu(void);
const cpu_facts *__wrap_conv2d_cpu(void);

const cpu_facts *other_cpu = NULL;

const cpu_facts *__wrap_conv2d_cpu(void)
{
    return other_cpu ? other_cpu : __real_conv2d_cpu();
}

cpu_facts real_cpu(void)
{
    return *__real_conv2d_cpu();
}

cpu_facts zen3_cpu(void)
{
    cpu_facts facts = real_cpu();
    facts.l1_bytes = 32 << 10;
    facts.l2_bytes = 512 << 10;
    facts.two_wide_fmas = false;
    return facts;
}
