/* sums += left @ right    2 products of 16 x 16 by 16 x 8, in 32 work-items each */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* A 16 x 16 matrix of bfloat16 times a 16 x 8 one is added to sums. */
static inline float4 mma_bf16(const uint4 a, const uint2 b, const float4 sums)
{
    float s0 = sums.s0, s1 = sums.s1, s2 = sums.s2, s3 = sums.s3;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3)
                 : "r"(a.s0), "r"(a.s1), "r"(a.s2), "r"(a.s3),
                   "r"(b.s0), "r"(b.s1));
    return (float4)(s0, s1, s2, s3);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void check_mma_bf16(__global const uint *left_buffer,
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
    const float4 sums_1 = mma_bf16(vload4(0, left + product), vload2(0, right + item * 2), vload4(0, sums + product));
    vstore4(sums_1, 0, sums + product);
}
