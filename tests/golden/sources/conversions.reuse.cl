/* between widths and kinds, eight lanes at a time */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void conversions(__global const short *x_buffer,
                          const ulong x_offset,
                          __global float *y_buffer,
                          const ulong y_offset,
                          __global uchar *z_buffer,
                          const ulong z_offset,
                          __global long *w_buffer,
                          const ulong w_offset)
{
    __global const short *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    __global uchar *z = AT(z_buffer, z_offset);
    __global long *w = AT(w_buffer, w_offset);
    uint u32_0;
    u32_0 = get_global_id(0);
    u32_0 = u32_0 * 8;
    const short8 p = vload8(0, x + u32_0);
    vstore8(convert_float8(p) / 4.0f, 0, y + u32_0);
    vstore8(convert_uchar8(p), 0, z + u32_0);
    vstore8(as_long8(as_ulong8(convert_long8(p)) * as_ulong8((long8)(1000000007))), 0, w + u32_0);
}
