/* Transforms tiles of 4 x 4 elements, two further each, one by each work-item.    dtype f32 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void transform_tiles(__global const float *restrict x_buffer,
                     const ulong x_offset,
                     const int x_shape0,
                     const int x_shape1,
                     const int x_shape2,
                     const int x_shape3,
                     const int x_stride0,
                     const int x_stride1,
                     const int x_stride2,
                     __global float *restrict v_buffer,
                     const ulong v_offset,
                     const int v_shape0,
                     const int v_shape1,
                     const int v_shape2,
                     const int v_stride0,
                     const int v_stride1,
                     const int down,
                     const int across,
                     const int top,
                     const int left)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *v = AT(v_buffer, v_offset);
    const int item = get_global_id(0);
    if (item < v_shape1 * v_shape2) {
        int channel;
        if (v_shape2 == 0) {
            channel = 0;
        } else if (v_shape2 == -1) {
            channel = (int)(0 - (uint)item);  /* the least integer wraps to itself */
        } else {
            channel = item / v_shape2;
            if (item % v_shape2 != 0 && (item < 0) != (v_shape2 < 0))
                channel -= 1;
        }
        int tile;
        if (v_shape2 == 0 || v_shape2 == -1) {
            tile = 0;
        } else {
            tile = item % v_shape2;
            if (tile != 0 && (tile < 0) != (v_shape2 < 0))
                tile += v_shape2;
        }
        const int product_1 = down * across;
        int image;
        if (product_1 == 0) {
            image = 0;
        } else if (product_1 == -1) {
            image = (int)(0 - (uint)tile);  /* the least integer wraps to itself */
        } else {
            image = tile / product_1;
            if (tile % product_1 != 0 && (tile < 0) != (product_1 < 0))
                image -= 1;
        }
        int quotient;
        if (across == 0) {
            quotient = 0;
        } else if (across == -1) {
            quotient = (int)(0 - (uint)tile);  /* the least integer wraps to itself */
        } else {
            quotient = tile / across;
            if (tile % across != 0 && (tile < 0) != (across < 0))
                quotient -= 1;
        }
        int remainder_;
        if (down == 0 || down == -1) {
            remainder_ = 0;
        } else {
            remainder_ = quotient % down;
            if (remainder_ != 0 && (remainder_ < 0) != (down < 0))
                remainder_ += down;
        }
        const int first_row = remainder_ * 2 - top;
        int remainder__1;
        if (across == 0 || across == -1) {
            remainder__1 = 0;
        } else {
            remainder__1 = tile % across;
            if (remainder__1 != 0 && (remainder__1 < 0) != (across < 0))
                remainder__1 += across;
        }
        const int first_column = remainder__1 * 2 - left;
        float d[16];
        d[0] = 0.0f;
        const bool and_value = 0 <= first_row && first_row < x_shape2;
        const bool and_value_1 = 0 <= first_column && first_column < x_shape3;
        if (and_value && and_value_1) {
            const int sum_2 = image * x_stride0 + channel * x_stride1 + first_row * x_stride2 + first_column;
            d[0] = x[sum_2];
        }
        const int column = first_column + 1;
        d[1] = 0.0f;
        const bool and_value_3 = 0 <= column && column < x_shape3;
        if (and_value && and_value_3) {
            const int sum_5 = image * x_stride0 + channel * x_stride1 + first_row * x_stride2 + column;
            d[1] = x[sum_5];
        }
        const int column_1 = first_column + 2;
        d[2] = 0.0f;
        const bool and_value_5 = 0 <= column_1 && column_1 < x_shape3;
        if (and_value && and_value_5) {
            const int sum_8 = image * x_stride0 + channel * x_stride1 + first_row * x_stride2 + column_1;
            d[2] = x[sum_8];
        }
        const int column_2 = first_column + 3;
        d[3] = 0.0f;
        const bool and_value_7 = 0 <= column_2 && column_2 < x_shape3;
        if (and_value && and_value_7) {
            const int sum_11 = image * x_stride0 + channel * x_stride1 + first_row * x_stride2 + column_2;
            d[3] = x[sum_11];
        }
        const int row = first_row + 1;
        d[4] = 0.0f;
        const bool and_value_9 = 0 <= row && row < x_shape2;
        if (and_value_9 && and_value_1) {
            const int sum_14 = image * x_stride0 + channel * x_stride1 + row * x_stride2 + first_column;
            d[4] = x[sum_14];
        }
        d[5] = 0.0f;
        if (and_value_9 && and_value_3) {
            const int sum_17 = image * x_stride0 + channel * x_stride1 + row * x_stride2 + column;
            d[5] = x[sum_17];
        }
        d[6] = 0.0f;
        if (and_value_9 && and_value_5) {
            const int sum_20 = image * x_stride0 + channel * x_stride1 + row * x_stride2 + column_1;
            d[6] = x[sum_20];
        }
        d[7] = 0.0f;
        if (and_value_9 && and_value_7) {
            const int sum_23 = image * x_stride0 + channel * x_stride1 + row * x_stride2 + column_2;
            d[7] = x[sum_23];
        }
        const int row_1 = first_row + 2;
        d[8] = 0.0f;
        const bool and_value_14 = 0 <= row_1 && row_1 < x_shape2;
        if (and_value_14 && and_value_1) {
            const int sum_26 = image * x_stride0 + channel * x_stride1 + row_1 * x_stride2 + first_column;
            d[8] = x[sum_26];
        }
        d[9] = 0.0f;
        if (and_value_14 && and_value_3) {
            const int sum_29 = image * x_stride0 + channel * x_stride1 + row_1 * x_stride2 + column;
            d[9] = x[sum_29];
        }
        d[10] = 0.0f;
        if (and_value_14 && and_value_5) {
            const int sum_32 = image * x_stride0 + channel * x_stride1 + row_1 * x_stride2 + column_1;
            d[10] = x[sum_32];
        }
        d[11] = 0.0f;
        if (and_value_14 && and_value_7) {
            const int sum_35 = image * x_stride0 + channel * x_stride1 + row_1 * x_stride2 + column_2;
            d[11] = x[sum_35];
        }
        const int row_2 = first_row + 3;
        d[12] = 0.0f;
        const bool and_value_19 = 0 <= row_2 && row_2 < x_shape2;
        if (and_value_19 && and_value_1) {
            const int sum_38 = image * x_stride0 + channel * x_stride1 + row_2 * x_stride2 + first_column;
            d[12] = x[sum_38];
        }
        d[13] = 0.0f;
        if (and_value_19 && and_value_3) {
            const int sum_41 = image * x_stride0 + channel * x_stride1 + row_2 * x_stride2 + column;
            d[13] = x[sum_41];
        }
        d[14] = 0.0f;
        if (and_value_19 && and_value_5) {
            const int sum_44 = image * x_stride0 + channel * x_stride1 + row_2 * x_stride2 + column_1;
            d[14] = x[sum_44];
        }
        d[15] = 0.0f;
        if (and_value_19 && and_value_7) {
            const int sum_47 = image * x_stride0 + channel * x_stride1 + row_2 * x_stride2 + column_2;
            d[15] = x[sum_47];
        }
        const float d0 = d[0];
        const float d1 = d[4];
        const float d2 = d[8];
        const float d3 = d[12];
        d[0] = d0 - d2;
        d[4] = d1 + d2;
        d[8] = d2 - d1;
        d[12] = d1 - d3;
        const float d0_1 = d[1];
        const float d1_1 = d[5];
        const float d2_1 = d[9];
        const float d3_1 = d[13];
        d[1] = d0_1 - d2_1;
        d[5] = d1_1 + d2_1;
        d[9] = d2_1 - d1_1;
        d[13] = d1_1 - d3_1;
        const float d0_2 = d[2];
        const float d1_2 = d[6];
        const float d2_2 = d[10];
        const float d3_2 = d[14];
        d[2] = d0_2 - d2_2;
        d[6] = d1_2 + d2_2;
        d[10] = d2_2 - d1_2;
        d[14] = d1_2 - d3_2;
        const float d0_3 = d[3];
        const float d1_3 = d[7];
        const float d2_3 = d[11];
        const float d3_3 = d[15];
        d[3] = d0_3 - d2_3;
        d[7] = d1_3 + d2_3;
        d[11] = d2_3 - d1_3;
        d[15] = d1_3 - d3_3;
        const float d0_4 = d[0];
        const float d1_4 = d[1];
        const float d2_4 = d[2];
        const float d3_4 = d[3];
        const int product_52 = channel * v_stride1;
        v[product_52 + tile] = d0_4 - d2_4;
        v[v_stride0 + product_52 + tile] = d1_4 + d2_4;
        v[v_stride0 * 2 + product_52 + tile] = d2_4 - d1_4;
        v[v_stride0 * 3 + product_52 + tile] = d1_4 - d3_4;
        const float d0_5 = d[4];
        const float d1_5 = d[5];
        const float d2_5 = d[6];
        const float d3_5 = d[7];
        v[v_stride0 * 4 + product_52 + tile] = d0_5 - d2_5;
        v[v_stride0 * 5 + product_52 + tile] = d1_5 + d2_5;
        v[v_stride0 * 6 + product_52 + tile] = d2_5 - d1_5;
        v[v_stride0 * 7 + product_52 + tile] = d1_5 - d3_5;
        const float d0_6 = d[8];
        const float d1_6 = d[9];
        const float d2_6 = d[10];
        const float d3_6 = d[11];
        v[v_stride0 * 8 + product_52 + tile] = d0_6 - d2_6;
        v[v_stride0 * 9 + product_52 + tile] = d1_6 + d2_6;
        v[v_stride0 * 10 + product_52 + tile] = d2_6 - d1_6;
        v[v_stride0 * 11 + product_52 + tile] = d1_6 - d3_6;
        const float d0_7 = d[12];
        const float d1_7 = d[13];
        const float d2_7 = d[14];
        const float d3_7 = d[15];
        v[v_stride0 * 12 + product_52 + tile] = d0_7 - d2_7;
        v[v_stride0 * 13 + product_52 + tile] = d1_7 + d2_7;
        v[v_stride0 * 14 + product_52 + tile] = d2_7 - d1_7;
        v[v_stride0 * 15 + product_52 + tile] = d1_7 - d3_7;
    }
}
