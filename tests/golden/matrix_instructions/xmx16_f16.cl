/* sums += left @ right    2 products of 8 x 16 by 16 x 16, in 16 work-items each */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* An 8 x 16 matrix of halves times a 16 x 16 one is added to sums. */
static inline float8 xmx16_f16(const ushort8 a, const uint8 b, const float8 sums)
{
    return intel_sub_group_f16_f16_matrix_mad_k16(as_short8(a), as_int8(b), sums);
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) __attribute__((intel_reqd_sub_group_size(16)))
void check_xmx16_f16(__global const ushort *left_buffer,
                     const ulong left_offset,
                     __global const uint *right_buffer,
                     const ulong right_offset,
                     __global float *sums_buffer,
                     const ulong sums_offset)
{
    __global const ushort *left = AT(left_buffer, left_offset);
    __global const uint *right = AT(right_buffer, right_offset);
    __global float *sums = AT(sums_buffer, sums_offset);
    const uint item = get_local_id(0);
    const uint product = item * 8;
    const float8 sums_1 = xmx16_f16(vload8(0, left + product), vload8(0, right + product), vload8(0, sums + product));
    vstore8(sums_1, 0, sums + product);
}
