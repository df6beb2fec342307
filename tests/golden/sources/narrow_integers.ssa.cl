/* 8 and 16 bits wrap as they do in NumPy, not as C promotes them */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void narrow_integers(const uint n,
                              __global const char *x_buffer,
                              const ulong x_offset,
                              __global const char *y_buffer,
                              const ulong y_offset,
                              __global const ushort *u_buffer,
                              const ulong u_offset,
                              __global char *r_buffer,
                              const ulong r_offset,
                              __global ushort *s_buffer,
                              const ulong s_offset)
{
    __global const char *x = AT(x_buffer, x_offset);
    __global const char *y = AT(y_buffer, y_offset);
    __global const ushort *u = AT(u_buffer, u_offset);
    __global char *r = AT(r_buffer, r_offset);
    __global ushort *s = AT(s_buffer, s_offset);
    const uint i = get_global_id(0);
    if (i >= n) {
        return;
    }
    const char p = x[i];
    const char q = y[i];
    const ushort w = u[i];
    r[i] = (char)((char)((char)((char)((uint)p * (uint)q) + p) ^ (char)(-q)) >> 1);
    s[i] = (ushort)(~(ushort)((ushort)((uint)w * (uint)w) + (ushort)((uint)w << 3)));
}
