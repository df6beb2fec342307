/* float16 in registers: only where the device has it */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void half_arithmetic(__global const half *x_buffer,
                              const ulong x_offset,
                              __global half *y_buffer,
                              const ulong y_offset)
{
    __global const half *x = AT(x_buffer, x_offset);
    __global half *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    const half p = x[i];
    y[i] = p * p + (half)0.5f;
}
