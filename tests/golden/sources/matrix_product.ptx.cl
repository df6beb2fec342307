/* y = a @ b    16 rows of 16 halves by 8 columns of 16 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

/* A 16 x 16 matrix of halves times a 16 x 8 one is added to sums. */
static inline float4 mma_f16(const uint4 a, const uint2 b, const float4 sums)
{
    float s0 = sums.s0, s1 = sums.s1, s2 = sums.s2, s3 = sums.s3;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3)
                 : "r"(a.s0), "r"(a.s1), "r"(a.s2), "r"(a.s3),
                   "r"(b.s0), "r"(b.s1));
    return (float4)(s0, s1, s2, s3);
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void matrix_product(__global const uint *a_buffer,
                    const ulong a_offset,
                    __global const uint *b_buffer,
                    const ulong b_offset,
                    __global float *y_buffer,
                    const ulong y_offset)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global const uint *b = AT(b_buffer, b_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint item = get_local_id(0);
    const uint group = item >> 2;
    const uint thread = item & 3;
    const uint product = group * 8;
    const uint at = product + thread;
    const uint sum_1 = at + 4;
    const uint a_value_3 = a[at + 68];
    const uint4 left = (uint4)(a[at], a[at + 64], a[sum_1], a_value_3);
    const uint2 right = (uint2)(b[at], b[sum_1]);
    const float4 sums = mma_f16(left, right, (float4)(0.0f));
    const uint product_1 = at * 2;
    STORE(float2, y + (product_1 - product), (float2)(sums.s0, sums.s1));
    STORE(float2, y + (product_1 + 64 - product), (float2)(sums.s2, sums.s3));
}
