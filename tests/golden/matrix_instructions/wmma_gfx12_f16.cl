/* sums += left @ right    2 products of 16 x 16 by 16 x 16, in 32 work-items each */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* A 16 x 16 matrix of halves times another one is added to sums. */
static inline float8 wmma_gfx12_f16(const uint4 a, const uint4 b, const float8 sums)
{
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(as_half8(a), as_half8(b), sums);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void check_wmma_gfx12_f16(__global const uint *left_buffer,
                          const ulong left_offset,
                          __global const uint *right_buffer,
                          const ulong right_offset,
                          __global float *sums_buffer,
                          const ulong sums_offset)
{
    __global const uint *left = AT(left_buffer, left_offset);
    __global const uint *right = AT(right_buffer, right_offset);
    __global float *sums = AT(sums_buffer, sums_offset);
    const uint item = get_local_id(0);
    const uint product = item * 4;
    const uint product_1 = item * 8;
    const float8 sums_1 = wmma_gfx12_f16(vload4(0, left + product), vload4(0, right + product), vload8(0, sums + product_1));
    vstore8(sums_1, 0, sums + product_1);
}
