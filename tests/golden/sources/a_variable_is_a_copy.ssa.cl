/* b = a, then b += 1 leaves a as it was */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void a_variable_is_a_copy(__global const float *x_buffer,
                                   const ulong x_offset,
                                   __global float *y_buffer,
                                   const ulong y_offset,
                                   __global float *z_buffer,
                                   const ulong z_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    __global float *z = AT(z_buffer, z_offset);
    const uint i = get_global_id(0);
    const float product = x[i] * 2.0f;
    y[i] = product;
    z[i] = product + 1.0f;
}
