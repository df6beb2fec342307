/* Fourier transforms of 60 = 10 x 6 points    c64 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

/* The complex numbers with these parts. */
static inline float16 complex_of_float8(const float8 re, const float8 im)
{
    float16 z;
    z.even = re;
    z.odd = im;
    return z;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void fourier_transform(const uint n0,
                       const uint point_in,
                       const uint point_out,
                       const uint in0,
                       const uint out0,
                       __global const float2 *restrict x_buffer,
                       const ulong x_offset,
                       __global float2 *restrict y_buffer,
                       const ulong y_offset)
{
    __global const float2 *x = AT(x_buffer, x_offset);
    __global float2 *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint blocks = (n0 + 7) / 8;
    const uint first = group % blocks * 8;
    const uint begin_in = first * in0;
    const uint begin_out = first * out0;
    float points[480] __attribute__((aligned(32)));
    float points_1[480] __attribute__((aligned(32)));
    const uint difference_1 = n0 - first - 1;
    const uint product = min(difference_1, 0u) * in0;
    const uint product_1 = min(difference_1, 1u) * in0;
    const uint product_2 = min(difference_1, 2u) * in0;
    const uint product_3 = min(difference_1, 3u) * in0;
    const uint product_4 = min(difference_1, 4u) * in0;
    const uint product_5 = min(difference_1, 5u) * in0;
    const uint product_6 = min(difference_1, 6u) * in0;
    const uint product_7 = min(difference_1, 7u) * in0;
    for (uint block = 0; block < 6; ++block) {
        const uint sum_1 = begin_in + block * point_in;
        const float2 x_value_2 = x[sum_1 + product_2];
        const float2 x_value_3 = x[sum_1 + product_3];
        const float2 x_value_4 = x[sum_1 + product_4];
        const float2 x_value_5 = x[sum_1 + product_5];
        const float2 x_value_6 = x[sum_1 + product_6];
        const float2 x_value_7 = x[sum_1 + product_7];
        const float16 joined = (float16)(x[sum_1 + product], x[sum_1 + product_1], x_value_2, x_value_3, x_value_4, x_value_5, x_value_6, x_value_7);
        const float8 real_value = joined.even;
        const float8 imag_value = joined.odd;
        const uint sum_11 = begin_in + (block + 6) * point_in;
        const float2 x_value_10 = x[sum_11 + product_2];
        const float2 x_value_11 = x[sum_11 + product_3];
        const float2 x_value_12 = x[sum_11 + product_4];
        const float2 x_value_13 = x[sum_11 + product_5];
        const float2 x_value_14 = x[sum_11 + product_6];
        const float2 x_value_15 = x[sum_11 + product_7];
        const float16 joined_1 = (float16)(x[sum_11 + product], x[sum_11 + product_1], x_value_10, x_value_11, x_value_12, x_value_13, x_value_14, x_value_15);
        const float8 real_value_1 = joined_1.even;
        const float8 imag_value_1 = joined_1.odd;
        const uint sum_21 = begin_in + (block + 12) * point_in;
        const float2 x_value_18 = x[sum_21 + product_2];
        const float2 x_value_19 = x[sum_21 + product_3];
        const float2 x_value_20 = x[sum_21 + product_4];
        const float2 x_value_21 = x[sum_21 + product_5];
        const float2 x_value_22 = x[sum_21 + product_6];
        const float2 x_value_23 = x[sum_21 + product_7];
        const float16 joined_2 = (float16)(x[sum_21 + product], x[sum_21 + product_1], x_value_18, x_value_19, x_value_20, x_value_21, x_value_22, x_value_23);
        const float8 real_value_2 = joined_2.even;
        const float8 imag_value_2 = joined_2.odd;
        const uint sum_31 = begin_in + (block + 18) * point_in;
        const float2 x_value_26 = x[sum_31 + product_2];
        const float2 x_value_27 = x[sum_31 + product_3];
        const float2 x_value_28 = x[sum_31 + product_4];
        const float2 x_value_29 = x[sum_31 + product_5];
        const float2 x_value_30 = x[sum_31 + product_6];
        const float2 x_value_31 = x[sum_31 + product_7];
        const float16 joined_3 = (float16)(x[sum_31 + product], x[sum_31 + product_1], x_value_26, x_value_27, x_value_28, x_value_29, x_value_30, x_value_31);
        const float8 real_value_3 = joined_3.even;
        const float8 imag_value_3 = joined_3.odd;
        const uint sum_41 = begin_in + (block + 24) * point_in;
        const float2 x_value_34 = x[sum_41 + product_2];
        const float2 x_value_35 = x[sum_41 + product_3];
        const float2 x_value_36 = x[sum_41 + product_4];
        const float2 x_value_37 = x[sum_41 + product_5];
        const float2 x_value_38 = x[sum_41 + product_6];
        const float2 x_value_39 = x[sum_41 + product_7];
        const float16 joined_4 = (float16)(x[sum_41 + product], x[sum_41 + product_1], x_value_34, x_value_35, x_value_36, x_value_37, x_value_38, x_value_39);
        const float8 real_value_4 = joined_4.even;
        const float8 imag_value_4 = joined_4.odd;
        const uint sum_51 = begin_in + (block + 30) * point_in;
        const float2 x_value_42 = x[sum_51 + product_2];
        const float2 x_value_43 = x[sum_51 + product_3];
        const float2 x_value_44 = x[sum_51 + product_4];
        const float2 x_value_45 = x[sum_51 + product_5];
        const float2 x_value_46 = x[sum_51 + product_6];
        const float2 x_value_47 = x[sum_51 + product_7];
        const float16 joined_5 = (float16)(x[sum_51 + product], x[sum_51 + product_1], x_value_42, x_value_43, x_value_44, x_value_45, x_value_46, x_value_47);
        const float8 real_value_5 = joined_5.even;
        const float8 imag_value_5 = joined_5.odd;
        const uint sum_61 = begin_in + (block + 36) * point_in;
        const float2 x_value_50 = x[sum_61 + product_2];
        const float2 x_value_51 = x[sum_61 + product_3];
        const float2 x_value_52 = x[sum_61 + product_4];
        const float2 x_value_53 = x[sum_61 + product_5];
        const float2 x_value_54 = x[sum_61 + product_6];
        const float2 x_value_55 = x[sum_61 + product_7];
        const float16 joined_6 = (float16)(x[sum_61 + product], x[sum_61 + product_1], x_value_50, x_value_51, x_value_52, x_value_53, x_value_54, x_value_55);
        const float8 real_value_6 = joined_6.even;
        const float8 imag_value_6 = joined_6.odd;
        const uint sum_71 = begin_in + (block + 42) * point_in;
        const float2 x_value_58 = x[sum_71 + product_2];
        const float2 x_value_59 = x[sum_71 + product_3];
        const float2 x_value_60 = x[sum_71 + product_4];
        const float2 x_value_61 = x[sum_71 + product_5];
        const float2 x_value_62 = x[sum_71 + product_6];
        const float2 x_value_63 = x[sum_71 + product_7];
        const float16 joined_7 = (float16)(x[sum_71 + product], x[sum_71 + product_1], x_value_58, x_value_59, x_value_60, x_value_61, x_value_62, x_value_63);
        const float8 real_value_7 = joined_7.even;
        const float8 imag_value_7 = joined_7.odd;
        const uint sum_81 = begin_in + (block + 48) * point_in;
        const float2 x_value_66 = x[sum_81 + product_2];
        const float2 x_value_67 = x[sum_81 + product_3];
        const float2 x_value_68 = x[sum_81 + product_4];
        const float2 x_value_69 = x[sum_81 + product_5];
        const float2 x_value_70 = x[sum_81 + product_6];
        const float2 x_value_71 = x[sum_81 + product_7];
        const float16 joined_8 = (float16)(x[sum_81 + product], x[sum_81 + product_1], x_value_66, x_value_67, x_value_68, x_value_69, x_value_70, x_value_71);
        const float8 real_value_8 = joined_8.even;
        const float8 imag_value_8 = joined_8.odd;
        const uint sum_91 = begin_in + (block + 54) * point_in;
        const float2 x_value_74 = x[sum_91 + product_2];
        const float2 x_value_75 = x[sum_91 + product_3];
        const float2 x_value_76 = x[sum_91 + product_4];
        const float2 x_value_77 = x[sum_91 + product_5];
        const float2 x_value_78 = x[sum_91 + product_6];
        const float2 x_value_79 = x[sum_91 + product_7];
        const float16 joined_9 = (float16)(x[sum_91 + product], x[sum_91 + product_1], x_value_74, x_value_75, x_value_76, x_value_77, x_value_78, x_value_79);
        const float8 real_value_9 = joined_9.even;
        const float8 imag_value_9 = joined_9.odd;
        const uint product_18 = block * 10;
        const float8 sum_100 = real_value + real_value_5;
        const float8 sum_101 = imag_value + imag_value_5;
        const float8 difference_2 = real_value - real_value_5;
        const float8 difference_3 = imag_value - imag_value_5;
        const float8 sum_102 = real_value_1 + real_value_6;
        const float8 sum_103 = imag_value_1 + imag_value_6;
        const float8 difference_4 = real_value_1 - real_value_6;
        const float8 difference_5 = imag_value_1 - imag_value_6;
        const float8 sum_104 = real_value_2 + real_value_7;
        const float8 sum_105 = imag_value_2 + imag_value_7;
        const float8 difference_6 = real_value_2 - real_value_7;
        const float8 difference_7 = imag_value_2 - imag_value_7;
        const float8 sum_106 = real_value_3 + real_value_8;
        const float8 sum_107 = imag_value_3 + imag_value_8;
        const float8 difference_8 = real_value_3 - real_value_8;
        const float8 difference_9 = imag_value_3 - imag_value_8;
        const float8 sum_108 = real_value_4 + real_value_9;
        const float8 sum_109 = imag_value_4 + imag_value_9;
        const float8 difference_10 = real_value_4 - real_value_9;
        const float8 difference_11 = imag_value_4 - imag_value_9;
        const float8 fma_value = fma(difference_4, (float8)(0.809017f), difference_5 * 0.58778524f);
        const float8 fma_value_1 = fma(difference_4, (float8)(-0.58778524f), difference_5 * 0.809017f);
        const float8 fma_value_2 = fma(difference_6, (float8)(0.309017f), difference_7 * 0.95105654f);
        const float8 fma_value_3 = fma(difference_6, (float8)(-0.95105654f), difference_7 * 0.309017f);
        const float8 fma_value_4 = fma(difference_8, (float8)(-0.309017f), difference_9 * 0.95105654f);
        const float8 fma_value_5 = fma(difference_8, (float8)(-0.95105654f), difference_9 * -0.309017f);
        const float8 fma_value_6 = fma(difference_10, (float8)(-0.809017f), difference_11 * 0.58778524f);
        const float8 fma_value_7 = fma(difference_10, (float8)(-0.58778524f), difference_11 * -0.809017f);
        const float8 sum_110 = sum_102 + sum_108;
        const float8 sum_111 = sum_103 + sum_109;
        const float8 sum_112 = sum_104 + sum_106;
        const float8 sum_113 = sum_105 + sum_107;
        const float8 difference_12 = sum_102 - sum_108;
        const float8 difference_13 = sum_103 - sum_109;
        const float8 difference_14 = sum_104 - sum_106;
        const float8 difference_15 = sum_105 - sum_107;
        const float8 fma_value_10 = fma(sum_112, (float8)(-0.809017f), fma(sum_110, (float8)(0.309017f), sum_100));
        const float8 fma_value_11 = fma(sum_113, (float8)(-0.809017f), fma(sum_111, (float8)(0.309017f), sum_101));
        const float8 fma_value_12 = fma(difference_14, (float8)(-0.58778524f), difference_12 * -0.95105654f);
        const float8 negated = -fma(difference_15, (float8)(-0.58778524f), difference_13 * -0.95105654f);
        const float8 fma_value_16 = fma(sum_112, (float8)(0.309017f), fma(sum_110, (float8)(-0.809017f), sum_100));
        const float8 fma_value_17 = fma(sum_113, (float8)(0.309017f), fma(sum_111, (float8)(-0.809017f), sum_101));
        const float8 fma_value_18 = fma(difference_14, (float8)(0.95105654f), difference_12 * -0.58778524f);
        const float8 negated_1 = -fma(difference_15, (float8)(0.95105654f), difference_13 * -0.58778524f);
        const float8 sum_122 = fma_value + fma_value_6;
        const float8 sum_123 = fma_value_1 + fma_value_7;
        const float8 sum_124 = fma_value_2 + fma_value_4;
        const float8 sum_125 = fma_value_3 + fma_value_5;
        const float8 difference_20 = fma_value - fma_value_6;
        const float8 difference_21 = fma_value_1 - fma_value_7;
        const float8 difference_22 = fma_value_2 - fma_value_4;
        const float8 difference_23 = fma_value_3 - fma_value_5;
        const float8 fma_value_22 = fma(sum_124, (float8)(-0.809017f), fma(sum_122, (float8)(0.309017f), difference_2));
        const float8 fma_value_23 = fma(sum_125, (float8)(-0.809017f), fma(sum_123, (float8)(0.309017f), difference_3));
        const float8 fma_value_24 = fma(difference_22, (float8)(-0.58778524f), difference_20 * -0.95105654f);
        const float8 negated_2 = -fma(difference_23, (float8)(-0.58778524f), difference_21 * -0.95105654f);
        const float8 fma_value_28 = fma(sum_124, (float8)(0.309017f), fma(sum_122, (float8)(-0.809017f), difference_2));
        const float8 fma_value_29 = fma(sum_125, (float8)(0.309017f), fma(sum_123, (float8)(-0.809017f), difference_3));
        const float8 fma_value_30 = fma(difference_22, (float8)(0.95105654f), difference_20 * -0.58778524f);
        const float8 negated_3 = -fma(difference_23, (float8)(0.95105654f), difference_21 * -0.58778524f);
        const uint product_35 = block * 80;
        vstore8(sum_100 + sum_110 + sum_112, 0, points + product_35);
        vstore8(sum_101 + sum_111 + sum_113, 0, points_1 + product_35);
        const uint product_36 = (product_18 + 1) * 8;
        vstore8(difference_2 + sum_122 + sum_124, 0, points + product_36);
        vstore8(difference_3 + sum_123 + sum_125, 0, points_1 + product_36);
        const uint product_37 = (product_18 + 2) * 8;
        vstore8(fma_value_10 + negated, 0, points + product_37);
        vstore8(fma_value_11 + fma_value_12, 0, points_1 + product_37);
        const uint product_38 = (product_18 + 3) * 8;
        vstore8(fma_value_22 + negated_2, 0, points + product_38);
        vstore8(fma_value_23 + fma_value_24, 0, points_1 + product_38);
        const uint product_39 = (product_18 + 4) * 8;
        vstore8(fma_value_16 + negated_1, 0, points + product_39);
        vstore8(fma_value_17 + fma_value_18, 0, points_1 + product_39);
        const uint product_40 = (product_18 + 5) * 8;
        vstore8(fma_value_28 + negated_3, 0, points + product_40);
        vstore8(fma_value_29 + fma_value_30, 0, points_1 + product_40);
        const uint product_41 = (product_18 + 6) * 8;
        vstore8(fma_value_16 - negated_1, 0, points + product_41);
        vstore8(fma_value_17 - fma_value_18, 0, points_1 + product_41);
        const uint product_42 = (product_18 + 7) * 8;
        vstore8(fma_value_28 - negated_3, 0, points + product_42);
        vstore8(fma_value_29 - fma_value_30, 0, points_1 + product_42);
        const uint product_43 = (product_18 + 8) * 8;
        vstore8(fma_value_10 - negated, 0, points + product_43);
        vstore8(fma_value_11 - fma_value_12, 0, points_1 + product_43);
        const uint product_44 = (product_18 + 9) * 8;
        vstore8(fma_value_22 - negated_2, 0, points + product_44);
        vstore8(fma_value_23 - fma_value_24, 0, points_1 + product_44);
    }
    const uint difference_28 = n0 - first;
    const bool is_greater = difference_28 > 0;
    const bool is_greater_1 = difference_28 > 1;
    const bool is_greater_2 = difference_28 > 2;
    const bool is_greater_3 = difference_28 > 3;
    const bool is_greater_4 = difference_28 > 4;
    const bool is_greater_5 = difference_28 > 5;
    const bool is_greater_6 = difference_28 > 6;
    const bool is_greater_7 = difference_28 > 7;
    for (uint within = 0; within < 10; ++within) {
        const uint product_45 = within * 8;
        const uint quotient = product_45 / 60;
        const uint difference_29 = product_45 - quotient * 60;
        const float product_47 = (float)((quotient & 1) != 0 ? 60 - difference_29 : difference_29) * 0.01308997f;
        const float product_48 = product_47 * product_47;
        const float fma_value_34 = fma(product_47 * product_48, fma(product_48, fma(product_48, -0.00019515296f, 0.008332161f), -0.16666655f), product_47);
        const float fma_value_38 = fma(product_48 * product_48, fma(product_48, fma(product_48, 0.000024433157f, -0.0013887316f), 0.041666646f), fma(product_48, -0.5f, 1.0f));
        const bool differs_1 = ((quotient + 1) & 2) != 0;
        const float chosen_1 = differs_1 ? fma_value_34 : fma_value_38;
        const float chosen_2 = differs_1 ? fma_value_38 : fma_value_34;
        const float chosen_3 = ((quotient + 2) & 4) != 0 ? -chosen_1 : chosen_1;
        const float chosen_4 = (quotient & 4) != 0 ? chosen_2 : -chosen_2;
        const uint product_51 = within * 16;
        const uint quotient_1 = product_51 / 60;
        const uint difference_31 = product_51 - quotient_1 * 60;
        const float product_53 = (float)((quotient_1 & 1) != 0 ? 60 - difference_31 : difference_31) * 0.01308997f;
        const float product_54 = product_53 * product_53;
        const float fma_value_41 = fma(product_53 * product_54, fma(product_54, fma(product_54, -0.00019515296f, 0.008332161f), -0.16666655f), product_53);
        const float fma_value_45 = fma(product_54 * product_54, fma(product_54, fma(product_54, 0.000024433157f, -0.0013887316f), 0.041666646f), fma(product_54, -0.5f, 1.0f));
        const bool differs_5 = ((quotient_1 + 1) & 2) != 0;
        const float chosen_6 = differs_5 ? fma_value_41 : fma_value_45;
        const float chosen_7 = differs_5 ? fma_value_45 : fma_value_41;
        const float chosen_8 = ((quotient_1 + 2) & 4) != 0 ? -chosen_6 : chosen_6;
        const float chosen_9 = (quotient_1 & 4) != 0 ? chosen_7 : -chosen_7;
        const uint product_59 = within * 32;
        const uint quotient_2 = product_59 / 60;
        const uint difference_33 = product_59 - quotient_2 * 60;
        const float product_61 = (float)((quotient_2 & 1) != 0 ? 60 - difference_33 : difference_33) * 0.01308997f;
        const float product_62 = product_61 * product_61;
        const float fma_value_50 = fma(product_61 * product_62, fma(product_62, fma(product_62, -0.00019515296f, 0.008332161f), -0.16666655f), product_61);
        const float fma_value_54 = fma(product_62 * product_62, fma(product_62, fma(product_62, 0.000024433157f, -0.0013887316f), 0.041666646f), fma(product_62, -0.5f, 1.0f));
        const bool differs_9 = ((quotient_2 + 1) & 2) != 0;
        const float chosen_11 = differs_9 ? fma_value_50 : fma_value_54;
        const float chosen_12 = differs_9 ? fma_value_54 : fma_value_50;
        const float chosen_13 = ((quotient_2 + 2) & 4) != 0 ? -chosen_11 : chosen_11;
        const float chosen_14 = (quotient_2 & 4) != 0 ? chosen_12 : -chosen_12;
        const float8 repeated = (float8)(chosen_3);
        const float8 repeated_1 = (float8)(chosen_4);
        const float8 repeated_2 = (float8)(chosen_8);
        const float8 repeated_3 = (float8)(chosen_9);
        const float8 repeated_4 = (float8)(fma(chosen_8, chosen_3, -(chosen_9 * chosen_4)));
        const float8 repeated_5 = (float8)(fma(chosen_8, chosen_4, chosen_9 * chosen_3));
        const float8 repeated_6 = (float8)(chosen_13);
        const float8 repeated_7 = (float8)(chosen_14);
        const float8 repeated_8 = (float8)(fma(chosen_13, chosen_3, -(chosen_14 * chosen_4)));
        const float8 repeated_9 = (float8)(fma(chosen_13, chosen_4, chosen_14 * chosen_3));
        const float8 points_value = vload8(0, points + product_45);
        const float8 points_1_value = vload8(0, points_1 + product_45);
        const uint sum_149 = within + 10;
        const uint product_67 = sum_149 * 8;
        const float8 points_value_1 = vload8(0, points + product_67);
        const float8 points_1_value_1 = vload8(0, points_1 + product_67);
        const uint sum_150 = within + 20;
        const uint product_68 = sum_150 * 8;
        const float8 points_value_2 = vload8(0, points + product_68);
        const float8 points_1_value_2 = vload8(0, points_1 + product_68);
        const uint sum_151 = within + 30;
        const uint product_69 = sum_151 * 8;
        const float8 points_value_3 = vload8(0, points + product_69);
        const float8 points_1_value_3 = vload8(0, points_1 + product_69);
        const uint sum_152 = within + 40;
        const uint product_70 = sum_152 * 8;
        const float8 points_value_4 = vload8(0, points + product_70);
        const float8 points_1_value_4 = vload8(0, points_1 + product_70);
        const uint sum_153 = within + 50;
        const uint product_71 = sum_153 * 8;
        const float8 points_value_5 = vload8(0, points + product_71);
        const float8 points_1_value_5 = vload8(0, points_1 + product_71);
        const float8 fma_value_57 = fma(points_value_1, repeated, -(points_1_value_1 * repeated_1));
        const float8 fma_value_58 = fma(points_value_1, repeated_1, points_1_value_1 * repeated);
        const float8 fma_value_59 = fma(points_value_2, repeated_2, -(points_1_value_2 * repeated_3));
        const float8 fma_value_60 = fma(points_value_2, repeated_3, points_1_value_2 * repeated_2);
        const float8 fma_value_61 = fma(points_value_3, repeated_4, -(points_1_value_3 * repeated_5));
        const float8 fma_value_62 = fma(points_value_3, repeated_5, points_1_value_3 * repeated_4);
        const float8 fma_value_63 = fma(points_value_4, repeated_6, -(points_1_value_4 * repeated_7));
        const float8 fma_value_64 = fma(points_value_4, repeated_7, points_1_value_4 * repeated_6);
        const float8 fma_value_65 = fma(points_value_5, repeated_8, -(points_1_value_5 * repeated_9));
        const float8 fma_value_66 = fma(points_value_5, repeated_9, points_1_value_5 * repeated_8);
        const float8 sum_154 = points_value + fma_value_61;
        const float8 sum_155 = points_1_value + fma_value_62;
        const float8 difference_35 = points_value - fma_value_61;
        const float8 difference_36 = points_1_value - fma_value_62;
        const float8 sum_156 = fma_value_57 + fma_value_63;
        const float8 sum_157 = fma_value_58 + fma_value_64;
        const float8 difference_37 = fma_value_57 - fma_value_63;
        const float8 difference_38 = fma_value_58 - fma_value_64;
        const float8 sum_158 = fma_value_59 + fma_value_65;
        const float8 sum_159 = fma_value_60 + fma_value_66;
        const float8 difference_39 = fma_value_59 - fma_value_65;
        const float8 difference_40 = fma_value_60 - fma_value_66;
        const float8 fma_value_67 = fma(difference_37, (float8)(0.5f), difference_38 * 0.8660254f);
        const float8 fma_value_68 = fma(difference_37, (float8)(-0.8660254f), difference_38 * 0.5f);
        const float8 fma_value_69 = fma(difference_39, (float8)(-0.5f), difference_40 * 0.8660254f);
        const float8 fma_value_70 = fma(difference_39, (float8)(-0.8660254f), difference_40 * -0.5f);
        const float8 sum_160 = sum_156 + sum_158;
        const float8 sum_161 = sum_157 + sum_159;
        const float8 fma_value_71 = fma(sum_160, (float8)(-0.5f), sum_154);
        const float8 fma_value_72 = fma(sum_161, (float8)(-0.5f), sum_155);
        const float8 product_86 = (sum_156 - sum_158) * -0.8660254f;
        const float8 negated_17 = -((sum_157 - sum_159) * -0.8660254f);
        const float8 sum_166 = fma_value_67 + fma_value_69;
        const float8 sum_167 = fma_value_68 + fma_value_70;
        const float8 fma_value_73 = fma(sum_166, (float8)(-0.5f), difference_35);
        const float8 fma_value_74 = fma(sum_167, (float8)(-0.5f), difference_36);
        const float8 product_88 = (fma_value_67 - fma_value_69) * -0.8660254f;
        const float8 negated_18 = -((fma_value_68 - fma_value_70) * -0.8660254f);
        const float16 complex_value = complex_of_float8(sum_154 + sum_160, sum_155 + sum_161);
        const uint sum_172 = begin_out + within * point_out;
        if (is_greater) {
            y[sum_172] = complex_value.s01;
        }
        if (is_greater_1) {
            y[sum_172 + out0] = complex_value.s23;
        }
        if (is_greater_2) {
            y[sum_172 + out0 * 2] = complex_value.s45;
        }
        if (is_greater_3) {
            y[sum_172 + out0 * 3] = complex_value.s67;
        }
        if (is_greater_4) {
            y[sum_172 + out0 * 4] = complex_value.s89;
        }
        if (is_greater_5) {
            y[sum_172 + out0 * 5] = complex_value.sab;
        }
        if (is_greater_6) {
            y[sum_172 + out0 * 6] = complex_value.scd;
        }
        if (is_greater_7) {
            y[sum_172 + out0 * 7] = complex_value.sef;
        }
        const float16 complex_value_1 = complex_of_float8(difference_35 + sum_166, difference_36 + sum_167);
        const uint sum_180 = begin_out + sum_149 * point_out;
        if (is_greater) {
            y[sum_180] = complex_value_1.s01;
        }
        if (is_greater_1) {
            y[sum_180 + out0] = complex_value_1.s23;
        }
        if (is_greater_2) {
            y[sum_180 + out0 * 2] = complex_value_1.s45;
        }
        if (is_greater_3) {
            y[sum_180 + out0 * 3] = complex_value_1.s67;
        }
        if (is_greater_4) {
            y[sum_180 + out0 * 4] = complex_value_1.s89;
        }
        if (is_greater_5) {
            y[sum_180 + out0 * 5] = complex_value_1.sab;
        }
        if (is_greater_6) {
            y[sum_180 + out0 * 6] = complex_value_1.scd;
        }
        if (is_greater_7) {
            y[sum_180 + out0 * 7] = complex_value_1.sef;
        }
        const float16 complex_value_2 = complex_of_float8(fma_value_71 + negated_17, fma_value_72 + product_86);
        const uint sum_188 = begin_out + sum_150 * point_out;
        if (is_greater) {
            y[sum_188] = complex_value_2.s01;
        }
        if (is_greater_1) {
            y[sum_188 + out0] = complex_value_2.s23;
        }
        if (is_greater_2) {
            y[sum_188 + out0 * 2] = complex_value_2.s45;
        }
        if (is_greater_3) {
            y[sum_188 + out0 * 3] = complex_value_2.s67;
        }
        if (is_greater_4) {
            y[sum_188 + out0 * 4] = complex_value_2.s89;
        }
        if (is_greater_5) {
            y[sum_188 + out0 * 5] = complex_value_2.sab;
        }
        if (is_greater_6) {
            y[sum_188 + out0 * 6] = complex_value_2.scd;
        }
        if (is_greater_7) {
            y[sum_188 + out0 * 7] = complex_value_2.sef;
        }
        const float16 complex_value_3 = complex_of_float8(fma_value_73 + negated_18, fma_value_74 + product_88);
        const uint sum_196 = begin_out + sum_151 * point_out;
        if (is_greater) {
            y[sum_196] = complex_value_3.s01;
        }
        if (is_greater_1) {
            y[sum_196 + out0] = complex_value_3.s23;
        }
        if (is_greater_2) {
            y[sum_196 + out0 * 2] = complex_value_3.s45;
        }
        if (is_greater_3) {
            y[sum_196 + out0 * 3] = complex_value_3.s67;
        }
        if (is_greater_4) {
            y[sum_196 + out0 * 4] = complex_value_3.s89;
        }
        if (is_greater_5) {
            y[sum_196 + out0 * 5] = complex_value_3.sab;
        }
        if (is_greater_6) {
            y[sum_196 + out0 * 6] = complex_value_3.scd;
        }
        if (is_greater_7) {
            y[sum_196 + out0 * 7] = complex_value_3.sef;
        }
        const float16 complex_value_4 = complex_of_float8(fma_value_71 - negated_17, fma_value_72 - product_86);
        const uint sum_204 = begin_out + sum_152 * point_out;
        if (is_greater) {
            y[sum_204] = complex_value_4.s01;
        }
        if (is_greater_1) {
            y[sum_204 + out0] = complex_value_4.s23;
        }
        if (is_greater_2) {
            y[sum_204 + out0 * 2] = complex_value_4.s45;
        }
        if (is_greater_3) {
            y[sum_204 + out0 * 3] = complex_value_4.s67;
        }
        if (is_greater_4) {
            y[sum_204 + out0 * 4] = complex_value_4.s89;
        }
        if (is_greater_5) {
            y[sum_204 + out0 * 5] = complex_value_4.sab;
        }
        if (is_greater_6) {
            y[sum_204 + out0 * 6] = complex_value_4.scd;
        }
        if (is_greater_7) {
            y[sum_204 + out0 * 7] = complex_value_4.sef;
        }
        const float16 complex_value_5 = complex_of_float8(fma_value_73 - negated_18, fma_value_74 - product_88);
        const uint sum_212 = begin_out + sum_153 * point_out;
        if (is_greater) {
            y[sum_212] = complex_value_5.s01;
        }
        if (is_greater_1) {
            y[sum_212 + out0] = complex_value_5.s23;
        }
        if (is_greater_2) {
            y[sum_212 + out0 * 2] = complex_value_5.s45;
        }
        if (is_greater_3) {
            y[sum_212 + out0 * 3] = complex_value_5.s67;
        }
        if (is_greater_4) {
            y[sum_212 + out0 * 4] = complex_value_5.s89;
        }
        if (is_greater_5) {
            y[sum_212 + out0 * 5] = complex_value_5.sab;
        }
        if (is_greater_6) {
            y[sum_212 + out0 * 6] = complex_value_5.scd;
        }
        if (is_greater_7) {
            y[sum_212 + out0 * 7] = complex_value_5.sef;
        }
    }
}
