/* Makes rows of two blocks orthogonal to each other, or those `within` each block.    block 8, lanes 1, wide 8, within False, dtype f32 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void rotate_blocks(__global float *restrict w_buffer,
                   const ulong w_offset,
                   const int w_shape0,
                   const int w_shape1,
                   const int w_shape2,
                   const int w_stride0,
                   const int w_stride1,
                   __global volatile int *restrict rotated_buffer,
                   const ulong rotated_offset,
                   const int rotated_shape0,
                   const int rotated_shape1,
                   const int rotated_stride0,
                   const int sweep,
                   const int turn,
                   const int length_1,
                   const float tolerance)
{
    __global float *w = AT(w_buffer, w_offset);
    __global volatile int *rotated = AT(rotated_buffer, rotated_offset);
    bool bool_0;
    const int blocks = w_shape1 / 8;
    const int pairs = blocks / 2;
    const int group = get_group_id(0);
    int batch;
    if (pairs == 0) {
        batch = 0;
    } else if (pairs == -1) {
        batch = (int)(0 - (uint)group);  /* the least integer wraps to itself */
    } else {
        batch = group / pairs;
        if (group % pairs != 0 && (group < 0) != (pairs < 0))
            batch -= 1;
    }
    int number;
    if (pairs == 0 || pairs == -1) {
        number = 0;
    } else {
        number = group % pairs;
        if (number != 0 && (number < 0) != (pairs < 0))
            number += pairs;
    }
    const int item = get_local_id(0);
    const int last = blocks - 1;
    const int sum = turn + number;
    int first;
    if (last == 0 || last == -1) {
        first = 0;
    } else {
        first = sum % last;
        if (first != 0 && (first < 0) != (last < 0))
            first += last;
    }
    const int difference = turn + last - number;
    int second;
    if (last == 0 || last == -1) {
        second = 0;
    } else {
        second = difference % last;
        if (second != 0 && (second < 0) != (last < 0))
            second += last;
    }
    const int second_1 = number == 0 ? last : second;
    const bool active = sweep == 0;
    bool_0 = active;
    if (sweep > 0) {
        const bool active_2 = rotated[batch * rotated_stride0 + (sweep - 1)] > 0;
        bool_0 = active_2;
    }
    const bool return_1 = bool_0;
    bool_0 = false;
    if (return_1) {
        bool any_rotated_1 = false;
        const int product_1 = first * 8;
        const int product_2 = second_1 * 8;
        const int product_3 = batch * w_stride0;
        for (int shift = 0; shift < 8; ++shift) {
            for (int step_1 = 0; step_1 < 8; ++step_1) {
                const int at = step_1 + item;
                const int p = product_1 + at;
                const int q = product_2 + (at + shift) % 8;
                const int sum_4 = product_3 + p * w_stride1;
                const float8 x = vload8(0, w + sum_4);
                const int sum_5 = product_3 + q * w_stride1;
                const float8 y = vload8(0, w + sum_5);
                const float8 return_2 = x * x;
                const float8 return_3 = y * y;
                const float8 gamma = x * y;
                float8 alpha = return_2;
                float8 beta = return_3;
                float8 gamma_1 = gamma;
                for (int e = 8; e < length_1; e += 8) {
                    const float8 x_1 = vload8(0, w + (sum_4 + e));
                    const float8 y_1 = vload8(0, w + (sum_5 + e));
                    const float8 return_4 = x_1 * x_1;
                    const float8 alpha_1 = alpha + return_4;
                    const float8 return_5 = y_1 * y_1;
                    const float8 beta_1 = beta + return_5;
                    const float8 gamma_2 = gamma_1 + x_1 * y_1;
                    alpha = alpha_1;
                    beta = beta_1;
                    gamma_1 = gamma_2;
                }
                const float8 kept = alpha;
                const float result = kept.s0;
                const float result_1 = result + kept.s1;
                const float result_2 = result_1 + kept.s2;
                const float result_3 = result_2 + kept.s3;
                const float result_4 = result_3 + kept.s4;
                const float result_5 = result_4 + kept.s5;
                const float result_6 = result_5 + kept.s6;
                const float result_7 = result_6 + kept.s7;
                const float8 kept_1 = beta;
                const float result_8 = kept_1.s0;
                const float result_9 = result_8 + kept_1.s1;
                const float result_10 = result_9 + kept_1.s2;
                const float result_11 = result_10 + kept_1.s3;
                const float result_12 = result_11 + kept_1.s4;
                const float result_13 = result_12 + kept_1.s5;
                const float result_14 = result_13 + kept_1.s6;
                const float result_15 = result_14 + kept_1.s7;
                const float8 kept_2 = gamma_1;
                const float result_16 = kept_2.s0;
                const float result_17 = result_16 + kept_2.s1;
                const float result_18 = result_17 + kept_2.s2;
                const float result_19 = result_18 + kept_2.s3;
                const float result_20 = result_19 + kept_2.s4;
                const float result_21 = result_20 + kept_2.s5;
                const float result_22 = result_21 + kept_2.s6;
                const float result_23 = result_22 + kept_2.s7;
                const float tangent = result_23 * 0.0f;
                const float abs_value = fabs(result_23);
                float tangent_1 = tangent;
                if (abs_value > tolerance * (sqrt(result_7) * sqrt(result_15))) {
                    const float zeta = (result_15 - result_7) / (2.0f * abs_value);
                    const float return_6 = copysign(1.0f, result_23);
                    const float quotient = 1.0f / (fabs(zeta) + sqrt(1.0f + zeta * zeta));
                    const float return_7 = copysign(quotient, zeta) * return_6;
                    tangent_1 = return_7;
                }
                const float return_8 = tangent_1;
                if (return_8 != 0.0f) {
                    const float return_9 = return_8 * return_8;
                    const float cosine = 1.0f / sqrt(1.0f + return_9);
                    const float return_10 = cosine * return_8;
                    const float8 repeated = (float8)(cosine);
                    const float8 repeated_1 = (float8)(return_10);
                    for (int e_1 = 0; e_1 < w_shape2; e_1 += 8) {
                        const int sum_11 = sum_4 + e_1;
                        const float8 x_2 = vload8(0, w + sum_11);
                        const int sum_12 = sum_5 + e_1;
                        const float8 y_2 = vload8(0, w + sum_12);
                        const float8 return_11 = repeated * x_2;
                        vstore8(return_11 - repeated_1 * y_2, 0, w + sum_11);
                        const float8 return_12 = repeated * y_2;
                        vstore8(repeated_1 * x_2 + return_12, 0, w + sum_12);
                    }
                    any_rotated_1 = true;
                }
            }
        }
        bool_0 = any_rotated_1;
    }
    const bool return_13 = bool_0;
    if (return_13 && item == 0) {
        atomic_max(rotated + (batch * rotated_stride0 + sweep), 1);
    }
}
