/* y = (a[0, 1] + a[2, 1] + a[1, 0] + a[1, 2])*s0    f32, 2-D, 4 elements a work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void four_neighbours_in_rows(const uint n0,
                                      const uint n1,
                                      __global const float *restrict a_buffer,
                                      const ulong a_offset,
                                      const uint a_stride0,
                                      const float s0,
                                      __global float *restrict y_buffer,
                                      const ulong y_offset,
                                      const uint y_stride0)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i1 = get_global_id(0);
    const uint i0 = get_global_id(1);
    const uint first = i0 * 4;
    if (i1 < n1 && first < n0) {
        const uint sum = first + 3;
        if (sum < n0) {
            const ulong a_at = (ulong)(first * a_stride0 + i1);
            const float a_i = a[a_at + 1];
            const uint sum_2 = first + 2;
            const uint a_index_3 = sum_2 * a_stride0 + i1;
            const ulong a_at_1 = (ulong)a_index_3;
            const float a_i_1 = a[a_at_1 + 1];
            const uint sum_5 = first + 1;
            const uint a_index_5 = sum_5 * a_stride0 + i1;
            const float a_i_2 = a[a_index_5];
            const ulong a_at_2 = (ulong)a_index_5;
            const float a_i_3 = a[a_at_2 + 2];
            const float a_i_4 = a[a_at_2 + 1];
            const uint a_index_7 = sum * a_stride0 + i1;
            const ulong a_at_3 = (ulong)a_index_7;
            const float a_i_5 = a[a_at_3 + 1];
            const float a_i_6 = a[a_index_3];
            const float a_i_7 = a[a_at_1 + 2];
            const uint a_index_9 = (first + 4) * a_stride0 + i1;
            const ulong a_at_4 = (ulong)a_index_9;
            const float a_i_8 = a[a_at_4 + 1];
            const float a_i_9 = a[a_index_7];
            const float a_i_10 = a[a_at_3 + 2];
            const ulong a_at_5 = (ulong)((first + 5) * a_stride0 + i1);
            const float a_i_11 = a[a_at_5 + 1];
            const float a_i_12 = a[a_index_9];
            const float a_i_13 = a[a_at_4 + 2];
            y[first * y_stride0 + i1] = (a_i + a_i_1 + a_i_2 + a_i_3) * s0;
            y[sum_5 * y_stride0 + i1] = (a_i_4 + a_i_5 + a_i_6 + a_i_7) * s0;
            y[sum_2 * y_stride0 + i1] = (a_i_1 + a_i_8 + a_i_9 + a_i_10) * s0;
            y[sum * y_stride0 + i1] = (a_i_5 + a_i_11 + a_i_12 + a_i_13) * s0;
        } else {
            for (uint j = first; j < n0; ++j) {
                const ulong a_at_6 = (ulong)(j * a_stride0 + i1);
                const float a_i_14 = a[a_at_6 + 1];
                const ulong a_at_7 = (ulong)((j + 2) * a_stride0 + i1);
                const float a_i_15 = a[a_at_7 + 1];
                const uint a_index_17 = (j + 1) * a_stride0 + i1;
                const float a_i_16 = a[a_index_17];
                const ulong a_at_8 = (ulong)a_index_17;
                const float a_i_17 = a[a_at_8 + 2];
                y[j * y_stride0 + i1] = (a_i_14 + a_i_15 + a_i_16 + a_i_17) * s0;
            }
        }
    }
}
