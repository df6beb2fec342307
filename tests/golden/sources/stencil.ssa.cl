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
    const uint i = get_global_id(0);
    if (i >= n) {
        return;
    }
    const uint column = i % w;
    const uint row = i / w;
    const float middle = x[i];
    float value = middle;
    const bool and_value_1 = column > 0 && column + 1 < w && row > 0;
    const uint sum_1 = i + w;
    if (and_value_1 && sum_1 < n) {
        const float x_value_2 = x[i - w];
        const float sum_4 = x[i - 1] + x[i + 1] + x_value_2;
        value = sum_4 + x[sum_1] - middle * 4.0f;
    }
    y[i] = value;
}
