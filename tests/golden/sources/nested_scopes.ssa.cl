/* the same names in scopes beside and inside of each other */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void nested_scopes(const uint n,
                            __global const float *x_buffer,
                            const ulong x_offset,
                            __global float *y_buffer,
                            const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    if (i < n) {
        float value = x[i];
        for (uint j = 0; j < 3; ++j) {
            for (uint j_1 = 0; j_1 < 2; ++j_1) {
                const float step_1 = (float)(j * j_1);
                if (value > step_1) {
                    value = value * 0.5f + step_1;
                } else {
                    value = (value + 1.0f) * step_1 - 0.25f;
                }
            }
        }
        for (uint j_2 = 0; j_2 < 3; ++j_2) {
            for (uint j_3 = 0; j_3 < 2; ++j_3) {
                const float step_2 = (float)(j_2 * j_3);
                if (value > step_2) {
                    value = value * 0.5f + step_2;
                } else {
                    value = (value + 1.0f) * step_2 - 0.25f;
                }
            }
        }
        y[i] = value;
    }
}
