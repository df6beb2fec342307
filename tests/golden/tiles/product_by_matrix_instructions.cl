/* product of tiles */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

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
void product(__global const half *restrict a_buffer,
             const ulong a_offset,
             __global const half *restrict b_buffer,
             const ulong b_offset,
             __global float *restrict c_buffer,
             const ulong c_offset,
             const int a_size0,
             const int a_size1,
             const int b_size0,
             const int b_size1,
             const int c_size0,
             const int c_size1)
{
    __global const half *a = AT(a_buffer, a_offset);
    __global const half *b = AT(b_buffer, b_offset);
    __global float *c = AT(c_buffer, c_offset);
    ushort8 u16x8_0;
    ushort8 u16x8_1;
    __local uint stage[1280] __attribute__((aligned(32)));
    int turn = 0;
    const int group = get_group_id(1);
    const int product_1 = group * 16;
    const int group_1 = get_group_id(0);
    const int j = group_1 * 16;
    const int item = get_local_id(0);
    const uint converted = (uint)item;
    const uint quotient = converted / 4;
    const int left_row = (int)quotient;
    const int left_column = (int)(converted % 4 * 8);
    const int left_row_1 = (int)(quotient + 8);
    const int right_row = (int)(converted / 2 * 2);
    const int right_column = (int)(converted % 2 * 8);
    uint4 held = (uint4)(0);
    uint4 held_1 = (uint4)(0);
    uint4 held_2 = (uint4)(0);
    uint4 held_3 = (uint4)(0);
    if (0 < a_size1) {
        const int sum_1 = product_1 + left_row;
        u16x8_0 = (ushort8)(0);
        const bool is_less_2 = left_column < a_size1;
        if (sum_1 < a_size0 && is_less_2) {
            u16x8_0 = LOAD(ushort8, a + (sum_1 * a_size1 + left_column));
        }
        held = as_uint4(u16x8_0);
        const int sum_3 = product_1 + left_row_1;
        u16x8_0 = (ushort8)(0);
        if (sum_3 < a_size0 && is_less_2) {
            u16x8_0 = LOAD(ushort8, a + (sum_3 * a_size1 + left_column));
        }
        held_1 = as_uint4(u16x8_0);
        const int sum_5 = j + right_column;
        u16x8_0 = (ushort8)(0);
        const bool is_less_5 = sum_5 < b_size1;
        if (right_row < b_size0 && is_less_5) {
            u16x8_0 = LOAD(ushort8, b + (right_row * b_size1 + sum_5));
        }
        const int sum_7 = right_row + 1;
        u16x8_1 = (ushort8)(0);
        if (sum_7 < b_size0 && is_less_5) {
            u16x8_1 = LOAD(ushort8, b + (sum_7 * b_size1 + sum_5));
        }
        held_2 = as_uint4(u16x8_0);
        held_3 = as_uint4(u16x8_1);
        const int product_9 = turn * 640;
        const uint4 kept_5 = held;
        const uint quotient_2 = (uint)left_column / 2;
        const uint rest_2 = quotient_2 % 16;
        const uint product_10 = quotient_2 / 16 * 16;
        const uint4 joined = (uint4)(kept_5.s0, kept_5.s1, kept_5.s2, kept_5.s3);
        STORE_LOCAL(uint4, stage + ((int)((product_10 + (uint)left_row) * 16 + rest_2) + product_9), joined);
        const uint4 kept_6 = held_1;
        const uint4 joined_1 = (uint4)(kept_6.s0, kept_6.s1, kept_6.s2, kept_6.s3);
        STORE_LOCAL(uint4, stage + ((int)((product_10 + (uint)left_row_1) * 16 + rest_2) + product_9), joined_1);
        const uint4 kept_7 = held_2;
        const uint4 kept_8 = held_3;
        const uint4 or_value = (kept_7 & 65535) | (kept_8 << 16);
        const uint4 or_value_1 = (kept_7 >> 16) | (kept_8 & 4294901760u);
        const uint quotient_4 = (uint)right_row / 2;
        const uint rest_3 = quotient_4 % 16;
        const uint sum_15 = rest_3 % 4 * 4 + rest_3 / 4;
        const uint sum_17 = (quotient_4 / 16 * 16 + sum_15) * 24 + (uint)right_column;
        const int sum_18 = (int)sum_17 + product_9;
        STORE_LOCAL(uint4, stage + (sum_18 + 256), (uint4)(or_value.s0, or_value_1.s0, or_value.s1, or_value_1.s1));
        STORE_LOCAL(uint4, stage + (int)((uint)sum_18 + 260), (uint4)(or_value.s2, or_value_1.s2, or_value.s3, or_value_1.s3));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float acc = 0.0f;
    float acc_1 = 0.0f;
    float acc_2 = 0.0f;
    float acc_3 = 0.0f;
    float acc_4 = 0.0f;
    float acc_5 = 0.0f;
    float acc_6 = 0.0f;
    float acc_7 = 0.0f;
    const uint and_value_6 = converted & 31;
    const uint shr_value_2 = and_value_6 >> 2;
    const uint and_value_7 = and_value_6 & 3;
    const uint sum_22 = ((converted >> 5) * 8 + shr_value_2) * 16 + and_value_7 * 4;
    const int converted_9 = (int)sum_22;
    const int converted_10 = (int)(shr_value_2 + and_value_7 * 24);
    for (int k = 0; k < a_size1; k += 32) {
        const int sum_24 = k + 32;
        const bool more = sum_24 < a_size1;
        if (more) {
            const int sum_25 = product_1 + left_row;
            const int sum_26 = sum_24 + left_column;
            u16x8_1 = (ushort8)(0);
            const bool is_less_8 = sum_26 < a_size1;
            if (sum_25 < a_size0 && is_less_8) {
                u16x8_1 = LOAD(ushort8, a + (sum_25 * a_size1 + sum_26));
            }
            held = as_uint4(u16x8_1);
            const int sum_28 = product_1 + left_row_1;
            u16x8_1 = (ushort8)(0);
            if (sum_28 < a_size0 && is_less_8) {
                u16x8_1 = LOAD(ushort8, a + (sum_28 * a_size1 + sum_26));
            }
            held_1 = as_uint4(u16x8_1);
            const int sum_30 = sum_24 + right_row;
            const int sum_31 = j + right_column;
            u16x8_1 = (ushort8)(0);
            const bool is_less_11 = sum_31 < b_size1;
            if (sum_30 < b_size0 && is_less_11) {
                u16x8_1 = LOAD(ushort8, b + (sum_30 * b_size1 + sum_31));
            }
            const int sum_34 = sum_24 + right_row + 1;
            u16x8_0 = (ushort8)(0);
            if (sum_34 < b_size0 && is_less_11) {
                u16x8_0 = LOAD(ushort8, b + (sum_34 * b_size1 + sum_31));
            }
            held_2 = as_uint4(u16x8_1);
            held_3 = as_uint4(u16x8_0);
        }
        const int product_24 = turn * 640;
        const ulong left_at = (ulong)(converted_9 + product_24);
        const ulong right_at = (ulong)(converted_10 + product_24 + 256);
        float4 sums = (float4)(acc, acc_1, acc_4, acc_5);
        float4 sums_1 = (float4)(acc_2, acc_3, acc_6, acc_7);
        const uint right = stage[right_at];
        const uint right_1 = stage[right_at + 96];
        const uint right_2 = stage[right_at + 192];
        const uint right_3 = stage[right_at + 288];
        const uint right_4 = stage[right_at + 8];
        const uint right_5 = stage[right_at + 104];
        const uint right_6 = stage[right_at + 200];
        const uint right_7 = stage[right_at + 296];
        const uint4 left = LOAD_LOCAL(uint4, stage + left_at);
        const uint4 left_1 = LOAD_LOCAL(uint4, stage + (left_at + 128));
        const uint4 joined_6 = (uint4)(left.s0, left_1.s0, left.s1, left_1.s1);
        const float4 sums_2 = mma_f16(joined_6, (uint2)(right, right_1), sums);
        sums = sums_2;
        const float4 sums_3 = mma_f16(joined_6, (uint2)(right_4, right_5), sums_1);
        sums_1 = sums_3;
        const uint4 joined_9 = (uint4)(left.s2, left_1.s2, left.s3, left_1.s3);
        const float4 sums_4 = mma_f16(joined_9, (uint2)(right_2, right_3), sums);
        sums = sums_4;
        const float4 sums_5 = mma_f16(joined_9, (uint2)(right_6, right_7), sums_1);
        sums_1 = sums_5;
        const float4 kept_22 = sums;
        acc = kept_22.s0;
        acc_1 = kept_22.s1;
        acc_4 = kept_22.s2;
        acc_5 = kept_22.s3;
        const float4 kept_23 = sums_1;
        acc_2 = kept_23.s0;
        acc_3 = kept_23.s1;
        acc_6 = kept_23.s2;
        acc_7 = kept_23.s3;
        if (more) {
            const int product_25 = (turn ^ 1) * 640;
            const uint4 kept_25 = held;
            const uint quotient_7 = (uint)left_column / 2;
            const uint rest_5 = quotient_7 % 16;
            const uint product_26 = quotient_7 / 16 * 16;
            const uint4 joined_12 = (uint4)(kept_25.s0, kept_25.s1, kept_25.s2, kept_25.s3);
            STORE_LOCAL(uint4, stage + ((int)((product_26 + (uint)left_row) * 16 + rest_5) + product_25), joined_12);
            const uint4 kept_26 = held_1;
            const uint4 joined_13 = (uint4)(kept_26.s0, kept_26.s1, kept_26.s2, kept_26.s3);
            STORE_LOCAL(uint4, stage + ((int)((product_26 + (uint)left_row_1) * 16 + rest_5) + product_25), joined_13);
            const uint4 kept_27 = held_2;
            const uint4 kept_28 = held_3;
            const uint4 or_value_2 = (kept_27 & 65535) | (kept_28 << 16);
            const uint4 or_value_3 = (kept_27 >> 16) | (kept_28 & 4294901760u);
            const uint quotient_9 = (uint)right_row / 2;
            const uint rest_6 = quotient_9 % 16;
            const uint sum_53 = rest_6 % 4 * 4 + rest_6 / 4;
            const uint sum_55 = (quotient_9 / 16 * 16 + sum_53) * 24 + (uint)right_column;
            const int sum_56 = (int)sum_55 + product_25;
            STORE_LOCAL(uint4, stage + (sum_56 + 256), (uint4)(or_value_2.s0, or_value_3.s0, or_value_2.s1, or_value_3.s1));
            STORE_LOCAL(uint4, stage + (int)((uint)sum_56 + 260), (uint4)(or_value_2.s2, or_value_3.s2, or_value_2.s3, or_value_3.s3));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        turn = turn ^ 1;
    }
    const uint and_value_14 = converted & 31;
    const int down = (int)((converted >> 5) * 8 + (and_value_14 >> 2));
    const int across = (int)(and_value_14 & 3);
    const int product_33 = across * 2;
    const int sum_62 = product_1 + down;
    const int sum_63 = j + product_33;
    const bool is_less_13 = sum_62 < c_size0;
    const bool is_less_14 = sum_63 < c_size1;
    if (is_less_13 && is_less_14) {
        STORE(float2, c + (sum_62 * c_size1 + sum_63), (float2)(acc, acc_1));
    }
    const int sum_65 = j + product_33 + 8;
    const bool is_less_15 = sum_65 < c_size1;
    if (is_less_13 && is_less_15) {
        STORE(float2, c + (sum_62 * c_size1 + sum_65), (float2)(acc_2, acc_3));
    }
    const int sum_67 = product_1 + (down + 8);
    const bool is_less_16 = sum_67 < c_size0;
    if (is_less_16 && is_less_14) {
        STORE(float2, c + (sum_67 * c_size1 + sum_63), (float2)(acc_4, acc_5));
    }
    if (is_less_16 && is_less_15) {
        STORE(float2, c + (sum_67 * c_size1 + sum_65), (float2)(acc_6, acc_7));
    }
}
