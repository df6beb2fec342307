/* sums += left @ right    2 products of 16 x 4 by 4 x 16, in 64 work-items each */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* A 16 x 4 matrix times a 4 x 16 one is added to sums. */
static inline float4 mfma_f32(const float a, const float b, const float4 sums)
{
    return __builtin_amdgcn_mfma_f32_16x16x4f32((a), (b), sums, 0, 0, 0);
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void check_mfma_f32(__global const float *left_buffer,
                    const ulong left_offset,
                    __global const float *right_buffer,
                    const ulong right_offset,
                    __global float *sums_buffer,
                    const ulong sums_offset)
{
    __global const float *left = AT(left_buffer, left_offset);
    __global const float *right = AT(right_buffer, right_offset);
    __global float *sums = AT(sums_buffer, sums_offset);
    const uint item = get_local_id(0);
    const uint product = item * 4;
    const float4 sums_1 = mfma_f32(left[item], right[item], vload4(0, sums + product));
    vstore4(sums_1, 0, sums + product);
}
