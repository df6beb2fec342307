/* scale is used again in the next iteration */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void live_across_the_back_edge(const uint n,
                                        __global const float *x_buffer,
                                        const ulong x_offset,
                                        __global float *y_buffer,
                                        const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    float f32_0;
    const uint i = get_global_id(0);
    const float scale = x[i] + 0.5f;
    float total = 0.0f;
    for (uint round_1 = 0; round_1 < n; ++round_1) {
        f32_0 = total * scale;
        f32_0 = f32_0 + 1.0f;
        const float other = f32_0 * 0.25f;
        total = f32_0 - other;
    }
    y[i] = total;
}
