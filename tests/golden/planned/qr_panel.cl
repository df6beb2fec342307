/* As `reflect_panel`, by a group whose work-items have `each` rows in registers. Squares between `least` and    panel 16, each 4, dtype f32 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reflect_panel_held(__global float *restrict a_buffer,
                        const ulong a_offset,
                        const int a_shape0,
                        const int a_shape1,
                        const int a_shape2,
                        const int a_stride0,
                        const int a_stride1,
                        __global float *restrict v_buffer,
                        const ulong v_offset,
                        const int v_shape0,
                        const int v_shape1,
                        const int v_shape2,
                        const int v_stride0,
                        const int v_stride1,
                        __global float *restrict factors_buffer,
                        const ulong factors_offset,
                        const int factors_shape0,
                        const int factors_shape1,
                        const int factors_stride0,
                        const float small,
                        const float least,
                        const float greatest)
{
    __global float *a = AT(a_buffer, a_offset);
    __global float *v = AT(v_buffer, v_offset);
    __global float *factors = AT(factors_buffer, factors_offset);
    float f32_0;
    float f32_1;
    float f32_2;
    const int item = get_local_id(0);
    __local float shared_f32[256];
    __local float heads[16];
    __local float sums[2048];
    const int batch = get_group_id(0);
    const int item_1 = get_local_id(0);
    float own[64];
    float reflector[4];
    float partial[16];
    #pragma unroll 4
    for (int r = 0; r < 4; ++r) {
        const int row = r * 256 + item_1;
        const int product_1 = r * 16;
        const bool is_less = row < a_shape1;
        #pragma unroll 16
        for (int c = 0; c < 16; ++c) {
            const int sum = product_1 + c;
            own[sum] = 0.0f;
            if (is_less && c < a_shape2) {
                own[sum] = a[batch * a_stride0 + row * a_stride1 + c];
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int smaller = min(a_shape1, a_shape2);
    for (int j = 0; j < 16; ++j) {
        if (j < smaller) {
            #pragma unroll 4
            for (int r_1 = 0; r_1 < 4; ++r_1) {
                if (r_1 * 256 + item_1 == j) {
                    heads[j] = own[r_1 * 16];
                }
            }
            const float squares = fabs(own[0]) * 0.0f;
            f32_0 = squares;
            #pragma unroll 4
            for (int r_2 = 0; r_2 < 4; ++r_2) {
                if (r_2 * 256 + item_1 > j) {
                    const int product_7 = r_2 * 16;
                    const float squares_2 = fma(own[product_7], own[product_7], f32_0);
                    f32_0 = squares_2;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            shared_f32[item] = f32_0;
            barrier(CLK_LOCAL_MEM_FENCE);
            const bool is_less_3 = item < 128;
            if (is_less_3) {
                shared_f32[item] = shared_f32[item] + shared_f32[item + 128];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const bool is_less_4 = item < 64;
            if (is_less_4) {
                shared_f32[item] = shared_f32[item] + shared_f32[item + 64];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const bool is_less_5 = item < 32;
            if (is_less_5) {
                shared_f32[item] = shared_f32[item] + shared_f32[item + 32];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const bool is_less_6 = item < 16;
            if (is_less_6) {
                shared_f32[item] = shared_f32[item] + shared_f32[item + 16];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const bool is_less_7 = item < 8;
            if (is_less_7) {
                shared_f32[item] = shared_f32[item] + shared_f32[item + 8];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const bool is_less_8 = item < 4;
            if (is_less_8) {
                shared_f32[item] = shared_f32[item] + shared_f32[item + 4];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const bool is_less_9 = item < 2;
            if (is_less_9) {
                shared_f32[item] = shared_f32[item] + shared_f32[item + 2];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const bool is_less_10 = item < 1;
            if (is_less_10) {
                shared_f32[item] = shared_f32[item] + shared_f32[item + 1];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const float group_sum = shared_f32[0];
            const float length_1 = sqrt(group_sum);
            const float up = small * 0.0f + 1.0f;
            f32_0 = length_1;
            f32_1 = up;
            if (!(least < group_sum && group_sum < greatest)) {
                const float largest = fabs(own[0]) * 0.0f;
                f32_2 = largest;
                #pragma unroll 4
                for (int r_3 = 0; r_3 < 4; ++r_3) {
                    if (r_3 * 256 + item_1 > j) {
                        const float abs_value_2 = fabs(own[r_3 * 16]);
                        const float largest_2 = abs_value_2 > f32_2 ? abs_value_2 : f32_2;
                        f32_2 = largest_2;
                    }
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                shared_f32[item] = f32_2;
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_3) {
                    const float shared_f32_value_17 = shared_f32[item];
                    const float shared_f32_value_18 = shared_f32[item + 128];
                    shared_f32[item] = shared_f32_value_17 > shared_f32_value_18 || isnan(shared_f32_value_17) ? shared_f32_value_17 : shared_f32_value_18;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_4) {
                    const float shared_f32_value_19 = shared_f32[item];
                    const float shared_f32_value_20 = shared_f32[item + 64];
                    shared_f32[item] = shared_f32_value_19 > shared_f32_value_20 || isnan(shared_f32_value_19) ? shared_f32_value_19 : shared_f32_value_20;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_5) {
                    const float shared_f32_value_21 = shared_f32[item];
                    const float shared_f32_value_22 = shared_f32[item + 32];
                    shared_f32[item] = shared_f32_value_21 > shared_f32_value_22 || isnan(shared_f32_value_21) ? shared_f32_value_21 : shared_f32_value_22;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_6) {
                    const float shared_f32_value_23 = shared_f32[item];
                    const float shared_f32_value_24 = shared_f32[item + 16];
                    shared_f32[item] = shared_f32_value_23 > shared_f32_value_24 || isnan(shared_f32_value_23) ? shared_f32_value_23 : shared_f32_value_24;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_7) {
                    const float shared_f32_value_25 = shared_f32[item];
                    const float shared_f32_value_26 = shared_f32[item + 8];
                    shared_f32[item] = shared_f32_value_25 > shared_f32_value_26 || isnan(shared_f32_value_25) ? shared_f32_value_25 : shared_f32_value_26;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_8) {
                    const float shared_f32_value_27 = shared_f32[item];
                    const float shared_f32_value_28 = shared_f32[item + 4];
                    shared_f32[item] = shared_f32_value_27 > shared_f32_value_28 || isnan(shared_f32_value_27) ? shared_f32_value_27 : shared_f32_value_28;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_9) {
                    const float shared_f32_value_29 = shared_f32[item];
                    const float shared_f32_value_30 = shared_f32[item + 2];
                    shared_f32[item] = shared_f32_value_29 > shared_f32_value_30 || isnan(shared_f32_value_29) ? shared_f32_value_29 : shared_f32_value_30;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_10) {
                    const float shared_f32_value_31 = shared_f32[item];
                    const float shared_f32_value_32 = shared_f32[item + 1];
                    shared_f32[item] = shared_f32_value_31 > shared_f32_value_32 || isnan(shared_f32_value_31) ? shared_f32_value_31 : shared_f32_value_32;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                const float group_max = shared_f32[0];
                const float total = group_max * 0.0f;
                f32_2 = total;
                #pragma unroll 4
                for (int r_4 = 0; r_4 < 4; ++r_4) {
                    if (r_4 * 256 + item_1 > j) {
                        float v_1 = 0.0f;
                        if (group_max > 0.0f) {
                            const float return_1 = own[r_4 * 16] / group_max;
                            v_1 = return_1;
                        } else {
                            v_1 = own[r_4 * 16];
                        }
                        const float ratio = v_1;
                        const float total_2 = fma(ratio, ratio, f32_2);
                        f32_2 = total_2;
                    }
                }
                const float abs_value_3 = fabs(heads[j]);
                const float return_2 = 1.0f / ((abs_value_3 > group_max ? abs_value_3 : group_max) < small ? small : 1.0f);
                barrier(CLK_LOCAL_MEM_FENCE);
                shared_f32[item] = f32_2;
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_3) {
                    shared_f32[item] = shared_f32[item] + shared_f32[item + 128];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_4) {
                    shared_f32[item] = shared_f32[item] + shared_f32[item + 64];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_5) {
                    shared_f32[item] = shared_f32[item] + shared_f32[item + 32];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_6) {
                    shared_f32[item] = shared_f32[item] + shared_f32[item + 16];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_7) {
                    shared_f32[item] = shared_f32[item] + shared_f32[item + 8];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_8) {
                    shared_f32[item] = shared_f32[item] + shared_f32[item + 4];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_9) {
                    shared_f32[item] = shared_f32[item] + shared_f32[item + 2];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (is_less_10) {
                    shared_f32[item] = shared_f32[item] + shared_f32[item + 1];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                const float group_sum_1 = shared_f32[0];
                const float length_3 = group_max * return_2 * sqrt(group_sum_1);
                f32_0 = length_3;
                f32_1 = return_2;
            }
            const float kept_3 = f32_0;
            const float up_2 = f32_1;
            const float return_3 = up_2 * heads[j];
            const float factor = return_3 * 0.0f;
            const bool differs = kept_3 != 0.0f;
            f32_1 = return_3;
            f32_0 = factor;
            if (differs) {
                const float diagonal_1 = -copysign(hypot(fabs(return_3), kept_3), return_3);
                const float return_4 = (diagonal_1 - return_3) / diagonal_1;
                f32_1 = diagonal_1;
                f32_0 = return_4;
            }
            const float difference_1 = return_3 - f32_1;
            const float kept_4 = f32_1;
            const float factor_2 = f32_0;
            if (item_1 == 0) {
                factors[batch * factors_stride0 + j] = factor_2;
            }
            #pragma unroll 4
            for (int r_5 = 0; r_5 < 4; ++r_5) {
                const int row_1 = r_5 * 256 + item_1;
                const bool is_equal_2 = row_1 == j;
                reflector[r_5] = (float)(is_equal_2 ? 1 : 0);
                if (row_1 > j) {
                    f32_0 = 0.0f;
                    if (differs) {
                        const float return_5 = up_2 * own[r_5 * 16];
                        const float return_6 = return_5 / difference_1;
                        f32_0 = return_6;
                    } else {
                        f32_0 = own[r_5 * 16];
                    }
                    reflector[r_5] = f32_0;
                    own[r_5 * 16] = reflector[r_5];
                }
                if (is_equal_2) {
                    own[r_5 * 16] = kept_4 / up_2;
                }
            }
            #pragma unroll 16
            for (int c_1 = 1; c_1 < 16; ++c_1) {
                partial[c_1] = 0.0f;
                #pragma unroll 4
                for (int r_6 = 0; r_6 < 4; ++r_6) {
                    partial[c_1] = fma(reflector[r_6], own[r_6 * 16 + c_1], partial[c_1]);
                }
            }
            if (item_1 >= 128) {
                const int difference_2 = item_1 - 128;
                #pragma unroll 16
                for (int c_2 = 1; c_2 < 16; ++c_2) {
                    sums[c_2 * 128 + difference_2] = partial[c_2];
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item_1 < 128) {
                #pragma unroll 16
                for (int c_3 = 1; c_3 < 16; ++c_3) {
                    const int sum_50 = c_3 * 128 + item_1;
                    sums[sum_50] = partial[c_3] + sums[sum_50];
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            int width = 128;
            while (width > 1) {
                int width_1;
                if (2 == 0) {
                    width_1 = 0;
                } else if (2 == -1) {
                    width_1 = (int)(0 - (uint)width);  /* the least integer wraps to itself */
                } else {
                    width_1 = width / 2;
                    if (width % 2 != 0 && (width < 0) != (2 < 0))
                        width_1 -= 1;
                }
                if (item_1 < width_1) {
                    const int sum_52 = item_1 + width_1;
                    #pragma unroll 16
                    for (int c_4 = 1; c_4 < 16; ++c_4) {
                        const int product_24 = c_4 * 128;
                        const int sum_53 = product_24 + item_1;
                        sums[sum_53] = sums[sum_53] + sums[product_24 + sum_52];
                    }
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                width = width_1;
            }
            const int difference_3 = 16 - j;
            #pragma unroll 16
            for (int c_5 = 1; c_5 < 16; ++c_5) {
                if (c_5 < difference_3) {
                    const float product_26 = sums[c_5 * 128] * factor_2;
                    const float negated = -product_26;
                    #pragma unroll 4
                    for (int r_7 = 0; r_7 < 4; ++r_7) {
                        const int sum_56 = r_7 * 16 + c_5;
                        own[sum_56] = fma(negated, reflector[r_7], own[sum_56]);
                    }
                }
            }
        }
        #pragma unroll 4
        for (int r_8 = 0; r_8 < 4; ++r_8) {
            const int product_28 = r_8 * 16;
            const float passed = own[product_28];
            #pragma unroll 16
            for (int c_6 = 1; c_6 < 16; ++c_6) {
                own[product_28 + (c_6 - 1)] = own[product_28 + c_6];
            }
            own[product_28 + 15] = passed;
        }
    }
    #pragma unroll 4
    for (int r_9 = 0; r_9 < 4; ++r_9) {
        const int row_2 = r_9 * 256 + item_1;
        const bool is_less_17 = row_2 < a_shape1;
        #pragma unroll 16
        for (int c_7 = 0; c_7 < 16; ++c_7) {
            if (is_less_17 && c_7 < a_shape2) {
                f32_0 = 0.0f;
                if (row_2 <= c_7) {
                    f32_0 = own[r_9 * 16 + c_7];
                } else {
                    f32_0 = own[r_9 * 16 + c_7] * 0.0f;
                }
                a[batch * a_stride0 + row_2 * a_stride1 + c_7] = f32_0;
                if (c_7 < v_shape2) {
                    f32_0 = (float)(row_2 == c_7 ? 1 : 0);
                    if (row_2 > c_7) {
                        f32_0 = own[r_9 * 16 + c_7];
                    }
                    v[batch * v_stride0 + row_2 * v_stride1 + c_7] = f32_0;
                }
            }
        }
    }
}
