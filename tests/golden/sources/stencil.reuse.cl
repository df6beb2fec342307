/* five points; the border is copied */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void stencil(const uint n,
                      const uint w,
                      __global const float *x_buffer,
                      const ulong x_offset,
                      __global float *y_buffer,
                      const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    uint u32_0;
    float f32_1;
    const uint i = get_global_id(0);
    if (i >= n) {
        return;
    }
    u32_0 = i % w;
    const uint row = i / w;
    const float middle = x[i];
    float value = middle;
    const bool and_value_1 = u32_0 > 0 && u32_0 + 1 < w && row > 0;
    u32_0 = i + w;
    if (and_value_1 && u32_0 < n) {
        f32_1 = x[i - w];
        f32_1 = x[i - 1] + x[i + 1] + f32_1;
        value = f32_1 + x[u32_0] - middle * 4.0f;
    }
    y[i] = value;
}
