/* two dimensions, rows further apart than they are long */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void strided_rows(const uint n,
                           const uint w,
                           const uint stride,
                           __global const float *x_buffer,
                           const ulong x_offset,
                           __global float *y_buffer,
                           const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint column = get_global_id(0);
    const uint row = get_global_id(1);
    if (column < w && row < n) {
        y[row * w + column] = x[row * stride + column] * 2.0f;
    }
}
