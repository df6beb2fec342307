/* Makes the rows of a small matrix orthogonal, by a group that has it in local memory.    rows 16, width 16, lanes 4, sweeps 20, dtype f32 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void rotate_small(__global float *restrict w_buffer,
                  const ulong w_offset,
                  const int w_shape0,
                  const int w_shape1,
                  const int w_shape2,
                  const int w_stride0,
                  const int w_stride1,
                  const int length_1,
                  const float tolerance)
{
    __global float *w = AT(w_buffer, w_offset);
    float f32_0;
    float f32_1;
    float f32_2;
    const int item = get_local_id(0);
    __local uchar shared_bool[32];
    __local float own[272];
    __local float sums[96];
    const int batch = get_group_id(0);
    const int item_1 = get_local_id(0);
    const int slot = item_1 / 4;
    const int lane = item_1 % 4;
    for (int place = item_1; place < 16 * w_shape2; place += 32) {
        int row;
        if (w_shape2 == 0) {
            row = 0;
        } else if (w_shape2 == -1) {
            row = (int)(0 - (uint)place);  /* the least integer wraps to itself */
        } else {
            row = place / w_shape2;
            if (place % w_shape2 != 0 && (place < 0) != (w_shape2 < 0))
                row -= 1;
        }
        f32_0 = 0.0f;
        if (row < w_shape1) {
            int remainder_;
            if (w_shape2 == 0 || w_shape2 == -1) {
                remainder_ = 0;
            } else {
                remainder_ = place % w_shape2;
                if (remainder_ != 0 && (remainder_ < 0) != (w_shape2 < 0))
                    remainder_ += w_shape2;
            }
            f32_0 = w[batch * w_stride0 + row * w_stride1 + remainder_];
        }
        int remainder__1;
        if (w_shape2 == 0 || w_shape2 == -1) {
            remainder__1 = 0;
        } else {
            remainder__1 = place % w_shape2;
            if (remainder__1 != 0 && (remainder__1 < 0) != (w_shape2 < 0))
                remainder__1 += w_shape2;
        }
        own[row * 17 + remainder__1] = f32_0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_equal = slot == 0;
    const int sum_3 = 32 + item_1;
    const int sum_4 = 64 + item_1;
    const int product_4 = slot * 4;
    const int sum_5 = 32 + product_4;
    const int sum_6 = 64 + product_4;
    const bool is_less_1 = item < 16;
    const bool is_less_2 = item < 8;
    const bool is_less_3 = item < 4;
    const bool is_less_4 = item < 2;
    const bool is_less_5 = item < 1;
    for (int _ = 0; _ < 20; ++_) {
        bool rotated = false;
        for (int turn = 0; turn < 15; ++turn) {
            const int first = (turn + slot) % 15;
            const int second = (turn + 15 - slot) % 15;
            const int q = is_equal ? 15 : second;
            const int product_5 = first * 17;
            const float gamma = own[product_5] * 0.0f;
            f32_0 = gamma;
            f32_1 = gamma;
            f32_2 = gamma;
            const int product_6 = q * 17;
            for (int e = lane; e < length_1; e += 4) {
                const float x = own[product_5 + e];
                const float y = own[product_6 + e];
                const float return_1 = x * x;
                const float alpha_1 = f32_1 + return_1;
                const float return_2 = y * y;
                const float beta_1 = f32_2 + return_2;
                const float gamma_2 = f32_0 + x * y;
                f32_0 = gamma_2;
                f32_1 = alpha_1;
                f32_2 = beta_1;
            }
            const float gamma_3 = f32_0;
            sums[item_1] = f32_1;
            sums[sum_3] = f32_2;
            sums[sum_4] = gamma_3;
            barrier(CLK_LOCAL_MEM_FENCE);
            const float alpha_2 = sums[product_4];
            const float beta_2 = sums[sum_5];
            const float gamma_4 = sums[sum_6];
            f32_2 = alpha_2;
            f32_1 = beta_2;
            f32_0 = gamma_4;
            for (int other = 1; other < 4; ++other) {
                const int sum_11 = product_4 + other;
                const float alpha_4 = f32_2 + sums[sum_11];
                const float beta_4 = f32_1 + sums[32 + sum_11];
                const float gamma_6 = f32_0 + sums[64 + sum_11];
                f32_2 = alpha_4;
                f32_1 = beta_4;
                f32_0 = gamma_6;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const float kept_3 = f32_2;
            const float kept_4 = f32_1;
            const float gamma_7 = f32_0;
            const float tangent = gamma_7 * 0.0f;
            const float abs_value = fabs(gamma_7);
            f32_0 = tangent;
            if (abs_value > tolerance * (sqrt(kept_3) * sqrt(kept_4))) {
                const float zeta = (kept_4 - kept_3) / (2.0f * abs_value);
                const float return_3 = copysign(1.0f, gamma_7);
                const float quotient = 1.0f / (fabs(zeta) + sqrt(1.0f + zeta * zeta));
                const float return_4 = copysign(quotient, zeta) * return_3;
                f32_0 = return_4;
            }
            const float return_5 = f32_0;
            if (return_5 != 0.0f) {
                const float return_6 = return_5 * return_5;
                const float cosine = 1.0f / sqrt(1.0f + return_6);
                const float return_7 = cosine * return_5;
                const int product_12 = q * 17;
                for (int e_1 = lane; e_1 < w_shape2; e_1 += 4) {
                    const int sum_17 = product_5 + e_1;
                    const float x_1 = own[sum_17];
                    const int sum_18 = product_12 + e_1;
                    const float y_1 = own[sum_18];
                    const float return_8 = cosine * x_1;
                    own[sum_17] = return_8 - return_7 * y_1;
                    const float return_9 = cosine * y_1;
                    own[sum_18] = return_7 * x_1 + return_9;
                }
                rotated = true;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        shared_bool[item] = rotated;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_1) {
            shared_bool[item] = shared_bool[item] || shared_bool[item + 16];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_2) {
            shared_bool[item] = shared_bool[item] || shared_bool[item + 8];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_3) {
            shared_bool[item] = shared_bool[item] || shared_bool[item + 4];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_4) {
            shared_bool[item] = shared_bool[item] || shared_bool[item + 2];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_5) {
            shared_bool[item] = shared_bool[item] || shared_bool[item + 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const bool group_any = shared_bool[0];
        if (!group_any) {
            break;
        }
    }
    const int product_16 = batch * w_stride0;
    for (int place_1 = item_1; place_1 < w_shape1 * w_shape2; place_1 += 32) {
        int row_1;
        if (w_shape2 == 0) {
            row_1 = 0;
        } else if (w_shape2 == -1) {
            row_1 = (int)(0 - (uint)place_1);  /* the least integer wraps to itself */
        } else {
            row_1 = place_1 / w_shape2;
            if (place_1 % w_shape2 != 0 && (place_1 < 0) != (w_shape2 < 0))
                row_1 -= 1;
        }
        int remainder__2;
        if (w_shape2 == 0 || w_shape2 == -1) {
            remainder__2 = 0;
        } else {
            remainder__2 = place_1 % w_shape2;
            if (remainder__2 != 0 && (remainder__2 < 0) != (w_shape2 < 0))
                remainder__2 += w_shape2;
        }
        w[product_16 + row_1 * w_stride1 + remainder__2] = own[row_1 * 17 + remainder__2];
    }
}
