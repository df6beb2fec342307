/* product of tiles */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))

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
    float f32_0;
    float f32_1;
    __local float stage[640] __attribute__((aligned(32)));
    int turn = 0;
    const int group = get_group_id(1);
    const int product_1 = group * 16;
    const int group_1 = get_group_id(0);
    const int j = group_1 * 16;
    const int item = get_local_id(0);
    const uint converted = (uint)item;
    const uint quotient = converted / 8;
    const int left_row = (int)quotient;
    const int left_column = (int)(converted % 8);
    const int left_row_1 = (int)(quotient + 4);
    const int left_row_2 = (int)(quotient + 8);
    const int left_row_3 = (int)(quotient + 12);
    const uint quotient_1 = converted / 16;
    const int right_row = (int)quotient_1;
    const int right_column = (int)(converted % 16);
    const int right_row_1 = (int)(quotient_1 + 2);
    const int right_row_2 = (int)(quotient_1 + 4);
    const int right_row_3 = (int)(quotient_1 + 6);
    float held = 0.0f;
    float held_1 = 0.0f;
    float held_2 = 0.0f;
    float held_3 = 0.0f;
    float held_4 = 0.0f;
    float held_5 = 0.0f;
    float held_6 = 0.0f;
    float held_7 = 0.0f;
    if (0 < a_size1) {
        const int sum_6 = product_1 + left_row;
        f32_0 = 0.0f;
        const bool is_less_2 = left_column < a_size1;
        if (sum_6 < a_size0 && is_less_2) {
            f32_0 = a[sum_6 * a_size1 + left_column];
        }
        held = f32_0;
        const int sum_8 = product_1 + left_row_1;
        f32_0 = 0.0f;
        if (sum_8 < a_size0 && is_less_2) {
            f32_0 = a[sum_8 * a_size1 + left_column];
        }
        held_1 = f32_0;
        const int sum_10 = product_1 + left_row_2;
        f32_0 = 0.0f;
        if (sum_10 < a_size0 && is_less_2) {
            f32_0 = a[sum_10 * a_size1 + left_column];
        }
        held_2 = f32_0;
        const int sum_12 = product_1 + left_row_3;
        f32_0 = 0.0f;
        if (sum_12 < a_size0 && is_less_2) {
            f32_0 = a[sum_12 * a_size1 + left_column];
        }
        held_3 = f32_0;
        const int sum_14 = j + right_column;
        f32_0 = 0.0f;
        const bool is_less_7 = sum_14 < b_size1;
        if (right_row < b_size0 && is_less_7) {
            f32_0 = b[right_row * b_size1 + sum_14];
        }
        held_4 = f32_0;
        f32_0 = 0.0f;
        if (right_row_1 < b_size0 && is_less_7) {
            f32_0 = b[right_row_1 * b_size1 + sum_14];
        }
        held_5 = f32_0;
        f32_0 = 0.0f;
        if (right_row_2 < b_size0 && is_less_7) {
            f32_0 = b[right_row_2 * b_size1 + sum_14];
        }
        held_6 = f32_0;
        f32_0 = 0.0f;
        if (right_row_3 < b_size0 && is_less_7) {
            f32_0 = b[right_row_3 * b_size1 + sum_14];
        }
        held_7 = f32_0;
        const int product_10 = turn * 320;
        const int product_11 = left_column * 20;
        stage[product_11 + left_row + product_10] = held;
        stage[product_11 + left_row_1 + product_10] = held_1;
        stage[product_11 + left_row_2 + product_10] = held_2;
        stage[product_11 + left_row_3 + product_10] = held_3;
        stage[right_row * 20 + right_column + product_10 + 160] = held_4;
        stage[right_row_1 * 20 + right_column + product_10 + 160] = held_5;
        stage[right_row_2 * 20 + right_column + product_10 + 160] = held_6;
        stage[right_row_3 * 20 + right_column + product_10 + 160] = held_7;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    f32_0 = 0.0f;
    float acc_1 = 0.0f;
    float acc_2 = 0.0f;
    float acc_3 = 0.0f;
    float acc_4 = 0.0f;
    float acc_5 = 0.0f;
    float acc_6 = 0.0f;
    float acc_7 = 0.0f;
    const int down = (int)(converted >> 2);
    const int product_16 = down * 2;
    const int across = (int)(converted & 3);
    const int product_17 = across * 4;
    for (int k = 0; k < a_size1; k += 8) {
        const int sum_39 = k + 8;
        const bool more = sum_39 < a_size1;
        if (more) {
            const int sum_40 = product_1 + left_row;
            const int sum_41 = sum_39 + left_column;
            f32_1 = 0.0f;
            const bool is_less_12 = sum_41 < a_size1;
            if (sum_40 < a_size0 && is_less_12) {
                f32_1 = a[sum_40 * a_size1 + sum_41];
            }
            held = f32_1;
            const int sum_43 = product_1 + left_row_1;
            f32_1 = 0.0f;
            if (sum_43 < a_size0 && is_less_12) {
                f32_1 = a[sum_43 * a_size1 + sum_41];
            }
            held_1 = f32_1;
            const int sum_45 = product_1 + left_row_2;
            f32_1 = 0.0f;
            if (sum_45 < a_size0 && is_less_12) {
                f32_1 = a[sum_45 * a_size1 + sum_41];
            }
            held_2 = f32_1;
            const int sum_47 = product_1 + left_row_3;
            f32_1 = 0.0f;
            if (sum_47 < a_size0 && is_less_12) {
                f32_1 = a[sum_47 * a_size1 + sum_41];
            }
            held_3 = f32_1;
            const int sum_49 = sum_39 + right_row;
            const int sum_50 = j + right_column;
            f32_1 = 0.0f;
            const bool is_less_17 = sum_50 < b_size1;
            if (sum_49 < b_size0 && is_less_17) {
                f32_1 = b[sum_49 * b_size1 + sum_50];
            }
            held_4 = f32_1;
            const int sum_52 = sum_39 + right_row_1;
            f32_1 = 0.0f;
            if (sum_52 < b_size0 && is_less_17) {
                f32_1 = b[sum_52 * b_size1 + sum_50];
            }
            held_5 = f32_1;
            const int sum_54 = sum_39 + right_row_2;
            f32_1 = 0.0f;
            if (sum_54 < b_size0 && is_less_17) {
                f32_1 = b[sum_54 * b_size1 + sum_50];
            }
            held_6 = f32_1;
            const int sum_56 = sum_39 + right_row_3;
            f32_1 = 0.0f;
            if (sum_56 < b_size0 && is_less_17) {
                f32_1 = b[sum_56 * b_size1 + sum_50];
            }
            held_7 = f32_1;
        }
        const int product_26 = turn * 320;
        const ulong left_at = (ulong)(product_16 + product_26);
        const ulong right_at = (ulong)(product_17 + product_26 + 160);
        #pragma unroll 8
        for (ulong k_1 = 0; k_1 < 8; ++k_1) {
            const ulong product_27 = k_1 * 20;
            const float2 left = LOAD_LOCAL(float2, stage + (left_at + product_27));
            const float lane = left.s0;
            const float lane_1 = left.s1;
            const float4 right = LOAD_LOCAL(float4, stage + (right_at + product_27));
            const float lane_2 = right.s0;
            const float lane_3 = right.s1;
            const float lane_4 = right.s2;
            const float lane_5 = right.s3;
            f32_0 = fma(lane, lane_2, f32_0);
            acc_1 = fma(lane, lane_3, acc_1);
            acc_2 = fma(lane, lane_4, acc_2);
            acc_3 = fma(lane, lane_5, acc_3);
            acc_4 = fma(lane_1, lane_2, acc_4);
            acc_5 = fma(lane_1, lane_3, acc_5);
            acc_6 = fma(lane_1, lane_4, acc_6);
            acc_7 = fma(lane_1, lane_5, acc_7);
        }
        if (more) {
            const int product_28 = (turn ^ 1) * 320;
            const int product_29 = left_column * 20;
            stage[product_29 + left_row + product_28] = held;
            stage[product_29 + left_row_1 + product_28] = held_1;
            stage[product_29 + left_row_2 + product_28] = held_2;
            stage[product_29 + left_row_3 + product_28] = held_3;
            stage[right_row * 20 + right_column + product_28 + 160] = held_4;
            stage[right_row_1 * 20 + right_column + product_28 + 160] = held_5;
            stage[right_row_2 * 20 + right_column + product_28 + 160] = held_6;
            stage[right_row_3 * 20 + right_column + product_28 + 160] = held_7;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        turn = turn ^ 1;
    }
    const int down_1 = (int)(converted >> 2);
    const int product_34 = down_1 * 2;
    const int across_1 = (int)(converted & 3);
    const int product_35 = across_1 * 4;
    const int sum_87 = product_1 + product_34;
    const int sum_88 = j + product_35;
    const bool is_less_21 = sum_87 < c_size0;
    const bool is_less_22 = sum_88 < c_size1;
    if (is_less_21 && is_less_22) {
        c[sum_87 * c_size1 + sum_88] = f32_0;
    }
    const int sum_90 = j + product_35 + 1;
    const bool is_less_23 = sum_90 < c_size1;
    if (is_less_21 && is_less_23) {
        c[sum_87 * c_size1 + sum_90] = acc_1;
    }
    const int sum_92 = j + product_35 + 2;
    const bool is_less_24 = sum_92 < c_size1;
    if (is_less_21 && is_less_24) {
        c[sum_87 * c_size1 + sum_92] = acc_2;
    }
    const int sum_94 = j + product_35 + 3;
    const bool is_less_25 = sum_94 < c_size1;
    if (is_less_21 && is_less_25) {
        c[sum_87 * c_size1 + sum_94] = acc_3;
    }
    const int sum_96 = product_1 + (product_34 + 1);
    const bool is_less_26 = sum_96 < c_size0;
    if (is_less_26 && is_less_22) {
        c[sum_96 * c_size1 + sum_88] = acc_4;
    }
    if (is_less_26 && is_less_23) {
        c[sum_96 * c_size1 + sum_90] = acc_5;
    }
    if (is_less_26 && is_less_24) {
        c[sum_96 * c_size1 + sum_92] = acc_6;
    }
    if (is_less_26 && is_less_25) {
        c[sum_96 * c_size1 + sum_94] = acc_7;
    }
}
