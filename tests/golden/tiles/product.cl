/* product of tiles */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void product(__global const float *restrict a_buffer,
             const ulong a_offset,
             __global const float *restrict b_buffer,
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
    __global const float *a = AT(a_buffer, a_offset);
    __global const float *b = AT(b_buffer, b_offset);
    __global float *c = AT(c_buffer, c_offset);
    float4 f32x4_0;
    __local float stage[640] __attribute__((aligned(32)));
    int turn = 0;
    const int group = get_group_id(1);
    const int product_1 = group * 16;
    const int group_1 = get_group_id(0);
    const int j = group_1 * 16;
    const int item = get_local_id(0);
    const uint converted = (uint)item;
    const int left_row = (int)(converted / 2);
    const int left_column = (int)(converted % 2 * 4);
    const int right_row = (int)(converted / 4);
    const int right_column = (int)(converted % 4 * 4);
    float4 held = (float4)(0.0f);
    float4 held_1 = (float4)(0.0f);
    if (0 < a_size1) {
        const int sum = product_1 + left_row;
        f32x4_0 = (float4)(0.0f);
        if (sum < a_size0 && left_column < a_size1) {
            f32x4_0 = LOAD(float4, a + (sum * a_size1 + left_column));
        }
        held = f32x4_0;
        const int sum_2 = j + right_column;
        f32x4_0 = (float4)(0.0f);
        if (right_row < b_size0 && sum_2 < b_size1) {
            f32x4_0 = LOAD(float4, b + (right_row * b_size1 + sum_2));
        }
        held_1 = f32x4_0;
        const int product_6 = turn * 320;
        const float4 kept_3 = held;
        const int sum_5 = left_column * 20 + left_row + product_6;
        stage[sum_5] = kept_3.s0;
        stage[sum_5 + 20] = kept_3.s1;
        stage[sum_5 + 40] = kept_3.s2;
        stage[sum_5 + 60] = kept_3.s3;
        STORE_LOCAL(float4, stage + (right_row * 20 + right_column + product_6 + 160), held_1);
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
    const int down = (int)(converted >> 2);
    const int product_9 = down * 2;
    const int across = (int)(converted & 3);
    const int product_10 = across * 4;
    for (int k = 0; k < a_size1; k += 8) {
        const int sum_12 = k + 8;
        const bool more = sum_12 < a_size1;
        if (more) {
            const int sum_13 = product_1 + left_row;
            const int sum_14 = sum_12 + left_column;
            f32x4_0 = (float4)(0.0f);
            if (sum_13 < a_size0 && sum_14 < a_size1) {
                f32x4_0 = LOAD(float4, a + (sum_13 * a_size1 + sum_14));
            }
            held = f32x4_0;
            const int sum_16 = sum_12 + right_row;
            const int sum_17 = j + right_column;
            f32x4_0 = (float4)(0.0f);
            if (sum_16 < b_size0 && sum_17 < b_size1) {
                f32x4_0 = LOAD(float4, b + (sum_16 * b_size1 + sum_17));
            }
            held_1 = f32x4_0;
        }
        const int product_13 = turn * 320;
        const ulong left_at = (ulong)(product_9 + product_13);
        const ulong right_at = (ulong)(product_10 + product_13 + 160);
        #pragma unroll 8
        for (ulong k_1 = 0; k_1 < 8; ++k_1) {
            const ulong product_14 = k_1 * 20;
            const float2 left = LOAD_LOCAL(float2, stage + (left_at + product_14));
            const float lane_4 = left.s0;
            const float lane_5 = left.s1;
            const float4 right = LOAD_LOCAL(float4, stage + (right_at + product_14));
            const float lane_6 = right.s0;
            const float lane_7 = right.s1;
            const float lane_8 = right.s2;
            const float lane_9 = right.s3;
            acc = fma(lane_4, lane_6, acc);
            acc_1 = fma(lane_4, lane_7, acc_1);
            acc_2 = fma(lane_4, lane_8, acc_2);
            acc_3 = fma(lane_4, lane_9, acc_3);
            acc_4 = fma(lane_5, lane_6, acc_4);
            acc_5 = fma(lane_5, lane_7, acc_5);
            acc_6 = fma(lane_5, lane_8, acc_6);
            acc_7 = fma(lane_5, lane_9, acc_7);
        }
        if (more) {
            const int product_15 = (turn ^ 1) * 320;
            const float4 kept_9 = held;
            const int sum_25 = left_column * 20 + left_row + product_15;
            stage[sum_25] = kept_9.s0;
            stage[sum_25 + 20] = kept_9.s1;
            stage[sum_25 + 40] = kept_9.s2;
            stage[sum_25 + 60] = kept_9.s3;
            STORE_LOCAL(float4, stage + (right_row * 20 + right_column + product_15 + 160), held_1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        turn = turn ^ 1;
    }
    const int down_1 = (int)(converted >> 2);
    const int product_18 = down_1 * 2;
    const int across_1 = (int)(converted & 3);
    const int sum_33 = product_1 + product_18;
    const int sum_34 = j + across_1 * 4;
    const bool is_less_10 = sum_34 < c_size1;
    if (sum_33 < c_size0 && is_less_10) {
        STORE(float4, c + (sum_33 * c_size1 + sum_34), (float4)(acc, acc_1, acc_2, acc_3));
    }
    const int sum_36 = product_1 + (product_18 + 1);
    if (sum_36 < c_size0 && is_less_10) {
        STORE(float4, c + (sum_36 * c_size1 + sum_34), (float4)(acc_4, acc_5, acc_6, acc_7));
    }
}
