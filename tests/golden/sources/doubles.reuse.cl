/* float64 and its conversion */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void doubles(__global const double *x_buffer,
                      const ulong x_offset,
                      __global double *y_buffer,
                      const ulong y_offset,
                      __global long *k_buffer,
                      const ulong k_offset)
{
    __global const double *x = AT(x_buffer, x_offset);
    __global double *y = AT(y_buffer, y_offset);
    __global long *k = AT(k_buffer, k_offset);
    const uint i = get_global_id(0);
    const double p = x[i];
    y[i] = sqrt(p * p + 1.0);
    k[i] = (long)(p * 1000.0);
}
