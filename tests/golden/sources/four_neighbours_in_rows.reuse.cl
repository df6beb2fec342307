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
    uint u32_0;
    uint u32_1;
    ulong u64_2;
    uint u32_3;
    uint u32_4;
    ulong u64_5;
    float f32_6;
    float f32_7;
    float f32_8;
    float f32_9;
    const uint i1 = get_global_id(0);
    u32_0 = get_global_id(1);
    u32_0 = u32_0 * 4;
    if (i1 < n1 && u32_0 < n0) {
        u32_1 = u32_0 + 3;
        if (u32_1 < n0) {
            u64_2 = (ulong)(u32_0 * a_stride0 + i1);
            const float a_i = a[u64_2 + 1];
            const uint sum_2 = u32_0 + 2;
            u32_3 = sum_2 * a_stride0 + i1;
            u64_2 = (ulong)u32_3;
            const float a_i_1 = a[u64_2 + 1];
            const uint sum_5 = u32_0 + 1;
            u32_4 = sum_5 * a_stride0 + i1;
            const float a_i_2 = a[u32_4];
            u64_5 = (ulong)u32_4;
            const float a_i_3 = a[u64_5 + 2];
            const float a_i_4 = a[u64_5 + 1];
            u32_4 = u32_1 * a_stride0 + i1;
            u64_5 = (ulong)u32_4;
            f32_6 = a[u64_5 + 1];
            const float a_i_6 = a[u32_3];
            const float a_i_7 = a[u64_2 + 2];
            u32_3 = (u32_0 + 4) * a_stride0 + i1;
            u64_2 = (ulong)u32_3;
            const float a_i_8 = a[u64_2 + 1];
            const float a_i_9 = a[u32_4];
            const float a_i_10 = a[u64_5 + 2];
            u64_5 = (ulong)((u32_0 + 5) * a_stride0 + i1);
            f32_7 = a[u64_5 + 1];
            f32_8 = a[u32_3];
            f32_9 = a[u64_2 + 2];
            y[u32_0 * y_stride0 + i1] = (a_i + a_i_1 + a_i_2 + a_i_3) * s0;
            y[sum_5 * y_stride0 + i1] = (a_i_4 + f32_6 + a_i_6 + a_i_7) * s0;
            y[sum_2 * y_stride0 + i1] = (a_i_1 + a_i_8 + a_i_9 + a_i_10) * s0;
            y[u32_1 * y_stride0 + i1] = (f32_6 + f32_7 + f32_8 + f32_9) * s0;
        } else {
            for (uint j = u32_0; j < n0; ++j) {
                u64_2 = (ulong)(j * a_stride0 + i1);
                f32_6 = a[u64_2 + 1];
                u64_2 = (ulong)((j + 2) * a_stride0 + i1);
                f32_7 = a[u64_2 + 1];
                u32_1 = (j + 1) * a_stride0 + i1;
                f32_8 = a[u32_1];
                u64_2 = (ulong)u32_1;
                f32_9 = a[u64_2 + 2];
                y[j * y_stride0 + i1] = (f32_6 + f32_7 + f32_8 + f32_9) * s0;
            }
        }
    }
}
