/* bfloat16 in memory, float32 in registers */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* The bfloat16 value nearest to x, ties to even, as a float: the upper 16 bits of the result are the bfloat16. */
static inline float round_to_bfloat16(const float x)
{
    const uint bits = as_uint(x);
    /* The odd bit is added so that ties go to even. A carry out of the fraction raises the exponent, up to infinity. */
    const uint rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
    /* Quiet, a NaN has a bit set in the upper half, and so it is still one there. */
    const uint quiet = bits | 0x00400000u;
    return as_float(isnan(x) ? quiet : rounded);
}

__kernel void bfloat16_storage(__global const ushort *b_buffer,
                               const ulong b_offset,
                               __global ushort *y_buffer,
                               const ulong y_offset)
{
    __global const ushort *b = AT(b_buffer, b_offset);
    __global ushort *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    y[i] = (ushort)(as_uint(round_to_bfloat16(as_float((uint)b[i] << 16) * 1.1f)) >> 16);
}
