/* sums += left @ right    2 products of 16 x 16 by 16 x 16, in 64 work-items each */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* A 16 x 16 matrix of halves times another one is added to sums. */
static inline float4 mfma_f16(const uint2 a, const uint2 b, const float4 sums)
{
    return __builtin_amdgcn_mfma_f32_16x16x16f16(as_half4(a), as_half4(b), sums, 0, 0, 0);
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void check_mfma_f16(__global const uint *left_buffer,
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
    const uint product = item * 2;
    const uint product_1 = item * 4;
    const float4 sums_1 = mfma_f16(vload2(0, left + product), vload2(0, right + product), vload4(0, sums + product_1));
    vstore4(sums_1, 0, sums + product_1);
}
