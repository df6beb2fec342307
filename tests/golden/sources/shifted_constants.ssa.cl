#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void shifted_constants(__global const ulong *n_buffer,
                                const ulong n_offset,
                                __global long *y_buffer,
                                const ulong y_offset,
                                __global ulong *z_buffer,
                                const ulong z_offset,
                                __global ulong *w_buffer,
                                const ulong w_offset)
{
    __global const ulong *n = AT(n_buffer, n_offset);
    __global long *y = AT(y_buffer, y_offset);
    __global ulong *z = AT(z_buffer, z_offset);
    __global ulong *w = AT(w_buffer, w_offset);
    const uint i = get_global_id(0);
    const ulong amount = n[i];
    const long converted = (long)amount;
    y[i] = (long)((ulong)converted < 64 ? 1uL << converted : 0);
    z[i] = amount < 64 ? 3uL << amount : 0;
    w[i] = amount < 64 ? 5uL >> amount : 0;
}
