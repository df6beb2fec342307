/* a shift by the width or more leaves nothing, as in NumPy */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void shifts(__global const ulong *x_buffer,
                     const ulong x_offset,
                     __global const ulong *s_buffer,
                     const ulong s_offset,
                     __global ulong *y_buffer,
                     const ulong y_offset,
                     __global long *z_buffer,
                     const ulong z_offset)
{
    __global const ulong *x = AT(x_buffer, x_offset);
    __global const ulong *s = AT(s_buffer, s_offset);
    __global ulong *y = AT(y_buffer, y_offset);
    __global long *z = AT(z_buffer, z_offset);
    const uint i = get_global_id(0);
    const ulong p = x[i];
    const ulong by = s[i];
    const ulong sum = by + 5;
    y[i] = (by < 64 ? p << by : 0) | (sum < 64 ? p >> sum : 0);
    const long bits_1 = as_long(by);
    z[i] = (long)((ulong)(as_long(p) >> min((ulong)bits_1, (ulong)63)) + (ulong)as_long(popcount(p)));
}
