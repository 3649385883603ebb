/* SPDX-License-Identifier: MIT */
/* What a user of an installed library would write: the checks of the installation build it in several ways. */
#include <conv2d.h>
#include <conv2d_chain.h>
#include <conv2d_tune.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    const float in[6] = {1, 2, 3, 4, 5, 6}, weights[2] = {10, 1};
    const conv2d_desc desc = {
        .in_channels = 1, .in_height = 2, .in_width = 3, .out_channels = 1, .kernel_height = 1, .kernel_width = 2};
    float out[4];
    const conv2d_status status = conv2d_f32(&desc, in, weights, out);
    printf("version %s, %s\n", conv2d_version(), conv2d_status_string(status));
    const int good = status == CONV2D_OK && out[0] == 12 && out[1] == 23 && out[2] == 45 && out[3] == 56;
    return good && strcmp(conv2d_version(), CONV2D_VERSION) == 0 ? 0 : 1;
}
