/* y = a*x + y, one element per work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void saxpy(const uint n,
                    const float a,
                    __global const float *x_buffer,
                    const ulong x_offset,
                    __global float *y_buffer,
                    const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}
