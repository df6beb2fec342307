/* y = gammaln_9826331fe338(a)    f32, 1-D, 1 element a work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void gammaln_9826331fe338(const uint n,
                                   __global const float *restrict a_buffer,
                                   const ulong a_offset,
                                   __global float *restrict y_buffer,
                                   const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    if (i < n) {
        const float a_i = a[i];
        const bool is_negative = a_i < -0.5f;
        const float y_1 = is_negative ? -a_i : a_i;
        const bool is_near = y_1 < 8.0f;
        const float w = is_near ? y_1 : 2.0f;
        const bool is_above = w >= 2.5f;
        const float w_1 = is_above ? w - 1.0f : w;
        const float product = is_above ? w_1 : 1.0f;
        const bool is_above_1 = w_1 >= 2.5f;
        const float w_2 = is_above_1 ? w_1 - 1.0f : w_1;
        const float product_2 = is_above_1 ? product * w_2 : product;
        const bool is_above_2 = w_2 >= 2.5f;
        const float w_3 = is_above_2 ? w_2 - 1.0f : w_2;
        const float product_4 = is_above_2 ? product_2 * w_3 : product_2;
        const bool is_above_3 = w_3 >= 2.5f;
        const float w_4 = is_above_3 ? w_3 - 1.0f : w_3;
        const float product_6 = is_above_3 ? product_4 * w_4 : product_4;
        const bool is_above_4 = w_4 >= 2.5f;
        const float w_5 = is_above_4 ? w_4 - 1.0f : w_4;
        const float product_8 = is_above_4 ? product_6 * w_5 : product_6;
        const bool is_above_5 = w_5 >= 2.5f;
        const float w_6 = is_above_5 ? w_5 - 1.0f : w_5;
        const float product_10 = is_above_5 ? product_8 * w_6 : product_8;
        const bool is_less_1 = w_6 < 0.5f;
        const bool is_small = w_6 < 1.5f;
        const float z = is_less_1 ? w_6 : (is_small ? w_6 - 1.0f : w_6 - 2.0f);
        const float factor = is_less_1 ? fabs(w_6) * (w_6 + 1.0f) : (is_small ? w_6 : product_10);
        const float logarithm = log(is_near ? factor : y_1);
        const float return_1 = fma(-0.00025056204f, z, 0.00057025126f);
        const float return_2 = fma(return_1, z, -0.0011874848f);
        const float return_3 = fma(return_2, z, 0.0028788687f);
        const float return_4 = fma(return_3, z, -0.0073859207f);
        const float return_5 = fma(return_4, z, 0.020581625f);
        const float return_6 = fma(return_5, z, -0.067352295f);
        const float return_7 = fma(return_6, z, 0.32246703f);
        const float return_8 = fma(return_7, z, 0.42278433f);
        const float series = z * return_8;
        const float near = is_small ? series - logarithm : series + logarithm;
        const float s = 1.0f / y_1;
        const float product_12 = s * s;
        const float return_9 = fma(0.0007936508f, product_12, -0.0027777778f);
        const float return_10 = fma(return_9, product_12, 0.083333336f);
        const float rest = s * return_10;
        const float return_11 = is_near ? near : (y_1 - 0.5f) * (logarithm - 1.0f) + (0.41893855f + rest);
        const float return_12 = y_1 - rint(y_1);
        const float log_value = log(y_1 * (fabs(sin(3.1415927f * return_12)) * 0.31830987f));
        const float reflected = return_12 == 0.0f ? INFINITY : -log_value - return_11;
        const float return_13 = isinf(a_i) ? INFINITY : (is_negative ? reflected : return_11);
        y[i] = return_13;
    }
}
