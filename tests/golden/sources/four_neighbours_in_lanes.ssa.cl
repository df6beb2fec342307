/* y = (a[0, 1] + a[2, 1] + a[1, 0] + a[1, 2])*s0    f32, 2-D, 4 elements a work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

__kernel void four_neighbours_in_lanes(const uint n0,
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
    if (i0 < n0) {
        const uint a_row = i0 * a_stride0;
        const uint a_row_1 = (i0 + 2) * a_stride0;
        const uint a_row_2 = (i0 + 1) * a_stride0;
        const uint y_row = i0 * y_stride0;
        const uint base = i1 * 4;
        if (base + 3 < n1) {
            const uint a_index_1 = (a_row + i1) * 4;
            const float4 a_i = LOAD(float4, a + a_index_1);
            const float a_i_1 = a[(ulong)a_index_1 + 4];
            const uint a_index_3 = (a_row_1 + i1) * 4;
            const float4 a_i_2 = LOAD(float4, a + a_index_3);
            const float a_i_3 = a[(ulong)a_index_3 + 4];
            const uint a_index_5 = (a_row_2 + i1) * 4;
            const float4 a_i_4 = LOAD(float4, a + a_index_5);
            const float lane_8 = a_i_4.s2;
            const float lane_9 = a_i_4.s3;
            const float2 a_i_5 = LOAD(float2, a + ((ulong)a_index_5 + 4));
            const float product_1 = (a_i.s2 + a_i_2.s2 + a_i_4.s1 + lane_9) * s0;
            const float product_3 = (a_i_1 + a_i_3 + lane_9 + a_i_5.s1) * s0;
            const uint y_index_1 = (y_row + i1 * 2) * 2;
            STORE(float2, y + y_index_1, (float2)((a_i.s1 + a_i_2.s1 + a_i_4.s0 + lane_8) * s0, product_1));
            STORE(float2, y + (y_index_1 + 2), (float2)((a_i.s3 + a_i_2.s3 + lane_8 + a_i_5.s0) * s0, product_3));
        } else {
            const uint product_5 = a_row * 4;
            const uint product_6 = a_row_1 * 4;
            const uint product_7 = a_row_2 * 4;
            const uint product_8 = y_row * 2;
            for (uint j = base; j < n1; ++j) {
                const uint sum_19 = j + 1;
                const float a_i_6 = a[product_5 + sum_19];
                const float a_i_7 = a[product_6 + sum_19];
                const float a_i_8 = a[product_7 + j];
                const float a_i_9 = a[product_7 + (j + 2)];
                y[product_8 + j] = (a_i_6 + a_i_7 + a_i_8 + a_i_9) * s0;
            }
        }
    }
}
