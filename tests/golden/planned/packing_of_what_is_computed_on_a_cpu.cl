/* a*b in chunks of 6 rows, c in chunks of 64 columns, by 384    f32 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void pack_panels(const uint k,
                 const uint slices,
                 const uint left_groups,
                 const uint left_own,
                 const uint left_chunks,
                 const uint left_per,
                 const uint left_runs,
                 const uint right_own,
                 const uint right_chunks,
                 const uint right_per,
                 const uint right_runs,
                 __global const float *restrict a_buffer,
                 const ulong a_offset,
                 const uint a_stride0,
                 __global const float *restrict b_buffer,
                 const ulong b_offset,
                 const uint b_stride0,
                 __global float *restrict y0_buffer,
                 const ulong y0_offset,
                 const uint y0_stride0,
                 const uint y0_stride1,
                 __global const float *restrict c_buffer,
                 const ulong c_offset,
                 const uint c_stride0,
                 const uint c_stride1,
                 __global float *restrict y1_buffer,
                 const ulong y1_offset,
                 const uint y1_stride0,
                 const uint y1_stride1)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global const float *b = AT(b_buffer, b_offset);
    __global float *y0 = AT(y0_buffer, y0_offset);
    __global const float *c = AT(c_buffer, c_offset);
    __global float *y1 = AT(y1_buffer, y1_offset);
    const uint group = get_group_id(0);
    if (group < left_groups) {
        const uint rest_1 = group / left_runs % slices;
        const uint begin = rest_1 * 384;
        const uint difference = k - begin;
        const uint count = min(difference, 384u);
        const uint first = group % left_runs * left_per;
        const uint sum = first + left_per;
        const uint last = min(sum, left_chunks);
        const uint y0_row = rest_1 * y0_stride0;
        const uint difference_1 = left_own - 1;
        for (uint chunk = first; chunk < last; ++chunk) {
            const uint row = chunk * 6;
            const ulong to = (ulong)((y0_row + chunk * y0_stride1) * 16);
            const uint sum_1 = row + 1;
            const uint smaller = min(sum_1, difference_1);
            const uint sum_2 = row + 2;
            const uint smaller_1 = min(sum_2, difference_1);
            const uint sum_3 = row + 3;
            const uint smaller_2 = min(sum_3, difference_1);
            const uint sum_4 = row + 4;
            const uint smaller_3 = min(sum_4, difference_1);
            const uint sum_5 = row + 5;
            const uint smaller_4 = min(sum_5, difference_1);
            const uint whole = count - count % 16;
            const uint a_row = row * a_stride0;
            const uint b_row = row * b_stride0;
            for (uint i = 0; i < whole; i += 16) {
                const float16 a_i = vload16(0, a + (a_row + (begin + i)));
                const float b_i = b[b_row];
                STORE(float16, y0 + (to + (ulong)i), a_i * b_i);
            }
            const ulong sum_8 = to + 384;
            const uint a_row_1 = smaller * a_stride0;
            const uint b_row_1 = smaller * b_stride0;
            for (uint i_1 = 0; i_1 < whole; i_1 += 16) {
                const float16 a_i_1 = vload16(0, a + (a_row_1 + (begin + i_1)));
                const float b_i_1 = b[b_row_1];
                STORE(float16, y0 + (sum_8 + (ulong)i_1), a_i_1 * b_i_1);
            }
            const ulong sum_11 = to + 768;
            const uint a_row_2 = smaller_1 * a_stride0;
            const uint b_row_2 = smaller_1 * b_stride0;
            for (uint i_2 = 0; i_2 < whole; i_2 += 16) {
                const float16 a_i_2 = vload16(0, a + (a_row_2 + (begin + i_2)));
                const float b_i_2 = b[b_row_2];
                STORE(float16, y0 + (sum_11 + (ulong)i_2), a_i_2 * b_i_2);
            }
            const ulong sum_14 = to + 1152;
            const uint a_row_3 = smaller_2 * a_stride0;
            const uint b_row_3 = smaller_2 * b_stride0;
            for (uint i_3 = 0; i_3 < whole; i_3 += 16) {
                const float16 a_i_3 = vload16(0, a + (a_row_3 + (begin + i_3)));
                const float b_i_3 = b[b_row_3];
                STORE(float16, y0 + (sum_14 + (ulong)i_3), a_i_3 * b_i_3);
            }
            const ulong sum_17 = to + 1536;
            const uint a_row_4 = smaller_3 * a_stride0;
            const uint b_row_4 = smaller_3 * b_stride0;
            for (uint i_4 = 0; i_4 < whole; i_4 += 16) {
                const float16 a_i_4 = vload16(0, a + (a_row_4 + (begin + i_4)));
                const float b_i_4 = b[b_row_4];
                STORE(float16, y0 + (sum_17 + (ulong)i_4), a_i_4 * b_i_4);
            }
            const ulong sum_20 = to + 1920;
            const uint a_row_5 = smaller_4 * a_stride0;
            const uint b_row_5 = smaller_4 * b_stride0;
            for (uint i_5 = 0; i_5 < whole; i_5 += 16) {
                const float16 a_i_5 = vload16(0, a + (a_row_5 + (begin + i_5)));
                const float b_i_5 = b[b_row_5];
                STORE(float16, y0 + (sum_20 + (ulong)i_5), a_i_5 * b_i_5);
            }
            const uint a_row_6 = row * a_stride0;
            const uint b_row_6 = row * b_stride0;
            const ulong sum_23 = to + 384;
            const uint a_row_7 = smaller * a_stride0;
            const uint b_row_7 = smaller * b_stride0;
            const ulong sum_24 = to + 768;
            const uint a_row_8 = smaller_1 * a_stride0;
            const uint b_row_8 = smaller_1 * b_stride0;
            const ulong sum_25 = to + 1152;
            const uint a_row_9 = smaller_2 * a_stride0;
            const uint b_row_9 = smaller_2 * b_stride0;
            const ulong sum_26 = to + 1536;
            const uint a_row_10 = smaller_3 * a_stride0;
            const uint b_row_10 = smaller_3 * b_stride0;
            const ulong sum_27 = to + 1920;
            const uint a_row_11 = smaller_4 * a_stride0;
            const uint b_row_11 = smaller_4 * b_stride0;
            for (uint i_6 = whole; i_6 < count; ++i_6) {
                const uint sum_28 = begin + i_6;
                const float a_i_6 = a[a_row_6 + sum_28];
                const float b_i_6 = b[b_row_6];
                const ulong converted_6 = (ulong)i_6;
                y0[to + converted_6] = a_i_6 * b_i_6;
                const float a_i_7 = a[a_row_7 + sum_28];
                const float b_i_7 = b[b_row_7];
                y0[sum_23 + converted_6] = a_i_7 * b_i_7;
                const float a_i_8 = a[a_row_8 + sum_28];
                const float b_i_8 = b[b_row_8];
                y0[sum_24 + converted_6] = a_i_8 * b_i_8;
                const float a_i_9 = a[a_row_9 + sum_28];
                const float b_i_9 = b[b_row_9];
                y0[sum_25 + converted_6] = a_i_9 * b_i_9;
                const float a_i_10 = a[a_row_10 + sum_28];
                const float b_i_10 = b[b_row_10];
                y0[sum_26 + converted_6] = a_i_10 * b_i_10;
                const float a_i_11 = a[a_row_11 + sum_28];
                const float b_i_11 = b[b_row_11];
                y0[sum_27 + converted_6] = a_i_11 * b_i_11;
            }
        }
    } else {
        const uint difference_2 = group - left_groups;
        const uint rest_4 = difference_2 / right_runs % slices;
        const uint begin_1 = rest_4 * 384;
        const uint difference_3 = k - begin_1;
        const uint count_1 = min(difference_3, 384u);
        const uint first_1 = difference_2 % right_runs * right_per;
        const uint sum_35 = first_1 + right_per;
        const uint last_1 = min(sum_35, right_chunks);
        const uint y1_row = rest_4 * y1_stride0;
        const uint difference_4 = right_own - 1;
        for (uint chunk_1 = first_1; chunk_1 < last_1; ++chunk_1) {
            const uint column = chunk_1 * 64;
            const ulong to_1 = (ulong)((y1_row + chunk_1 * y1_stride1) * 16);
            for (uint j = 0; j < 64; ++j) {
                const uint sum_36 = column + j;
                const uint c_index = min(sum_36, difference_4) * c_stride1;
                for (uint i_7 = 0; i_7 < count_1; ++i_7) {
                    const float c_i = c[(begin_1 + i_7) * c_stride0 + c_index];
                    y1[to_1 + (ulong)(i_7 * 64 + j)] = c_i;
                }
            }
        }
    }
}
