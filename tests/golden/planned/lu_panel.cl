/* Factors a few columns by a group whose work-items have `each` rows in registers.    panel 16, each 1, dtype f32 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void lu_panel_held(__global float *restrict a_buffer,
                   const ulong a_offset,
                   const int a_shape0,
                   const int a_shape1,
                   const int a_shape2,
                   const int a_stride0,
                   const int a_stride1,
                   __global int *restrict pivots_buffer,
                   const ulong pivots_offset,
                   const int pivots_shape0,
                   const int pivots_shape1,
                   const int pivots_stride0,
                   const int first)
{
    __global float *a = AT(a_buffer, a_offset);
    __global int *pivots = AT(pivots_buffer, pivots_offset);
    float f32_0;
    __local float top[16];
    __local float chosen[16];
    __local float shared[8];
    __local int shared_1[8];
    const int batch = get_group_id(0);
    const int item = get_local_id(0);
    float own[16];
    const bool is_less = item < a_shape1;
    #pragma unroll 16
    for (int c = 0; c < 16; ++c) {
        f32_0 = 0.0f;
        if (is_less && c < a_shape2) {
            f32_0 = a[batch * a_stride0 + item * a_stride1 + c];
        } else {
            f32_0 = a[batch * a_stride0] * 0.0f;
        }
        own[c] = f32_0;
    }
    const bool is_less_2 = item < a_shape1;
    const bool is_less_3 = item < 4;
    const bool is_less_4 = item < 2;
    const bool is_less_5 = item < 1;
    const bool is_equal = item == 0;
    const int product_4 = batch * a_stride0;
    const int product_5 = batch * a_stride0;
    for (int j = 0; j < a_shape2; ++j) {
        f32_0 = -1.0f;
        int at = j;
        const float value = fabs(own[0]);
        if (j <= item && is_less_2 && value > f32_0) {
            f32_0 = value;
            at = item;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        shared[item] = f32_0;
        shared_1[item] = at;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (is_less_3) {
            const int sum_2 = item + 4;
            const float shared_value = shared[item];
            const int shared_1_value = shared_1[item];
            const float shared_value_1 = shared[sum_2];
            const int shared_1_value_1 = shared_1[sum_2];
            const bool first_1 = shared_value > shared_value_1 || (shared_value == shared_value_1 && shared_1_value <= shared_1_value_1);
            shared[item] = first_1 ? shared_value : shared_value_1;
            shared_1[item] = first_1 ? shared_1_value : shared_1_value_1;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (is_less_4) {
            const int sum_3 = item + 2;
            const float shared_value_2 = shared[item];
            const int shared_1_value_2 = shared_1[item];
            const float shared_value_3 = shared[sum_3];
            const int shared_1_value_3 = shared_1[sum_3];
            const bool first_2 = shared_value_2 > shared_value_3 || (shared_value_2 == shared_value_3 && shared_1_value_2 <= shared_1_value_3);
            shared[item] = first_2 ? shared_value_2 : shared_value_3;
            shared_1[item] = first_2 ? shared_1_value_2 : shared_1_value_3;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (is_less_5) {
            const int sum_4 = item + 1;
            const float shared_value_4 = shared[item];
            const int shared_1_value_4 = shared_1[item];
            const float shared_value_5 = shared[sum_4];
            const int shared_1_value_5 = shared_1[sum_4];
            const bool first_3 = shared_value_4 > shared_value_5 || (shared_value_4 == shared_value_5 && shared_1_value_4 <= shared_1_value_5);
            shared[item] = first_3 ? shared_value_4 : shared_value_5;
            shared_1[item] = first_3 ? shared_1_value_4 : shared_1_value_5;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        const int at_1 = shared_1[0];
        if (item == j) {
            #pragma unroll 16
            for (int c_1 = 0; c_1 < 16; ++c_1) {
                top[c_1] = own[c_1];
            }
        }
        const bool is_equal_5 = item == at_1;
        if (is_equal_5) {
            #pragma unroll 16
            for (int c_2 = 0; c_2 < 16; ++c_2) {
                chosen[c_2] = own[c_2];
            }
        }
        if (is_equal) {
            pivots[batch * pivots_stride0 + j] = first + at_1;
        }
        const int sum_7 = product_4 + j * a_stride1;
        const int sum_8 = product_4 + at_1 * a_stride1;
        for (int c_3 = item; c_3 < j; c_3 += 8) {
            const int sum_9 = sum_7 + c_3;
            const float upper = a[sum_9];
            const int sum_10 = sum_8 + c_3;
            a[sum_9] = a[sum_10];
            a[sum_10] = upper;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        const int sum_11 = product_5 + j * a_stride1;
        for (int c_4 = item; c_4 < a_shape2 - j; c_4 += 8) {
            a[sum_11 + j + c_4] = chosen[c_4];
        }
        const float pivot = chosen[0];
        if (j < item && is_less_2) {
            f32_0 = 0.0f;
            if (is_equal_5) {
                f32_0 = top[0];
            } else {
                f32_0 = own[0];
            }
            const float factor = f32_0;
            f32_0 = factor;
            if (pivot != 0.0f) {
                const float return_1 = factor / pivot;
                f32_0 = return_1;
            }
            a[batch * a_stride0 + item * a_stride1 + j] = f32_0;
            #pragma unroll 16
            for (int c_5 = 1; c_5 < 16; ++c_5) {
                float v_2 = 0.0f;
                if (is_equal_5) {
                    v_2 = top[c_5];
                } else {
                    v_2 = own[c_5];
                }
                const float value_1 = v_2;
                own[c_5 - 1] = value_1 - f32_0 * chosen[c_5];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}
