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
    uint u32_0;
    uint u32_1;
    uint u32_2;
    uint u32_3;
    uint u32_4;
    uint u32_5;
    float f32_6;
    float f32_7;
    float f32_8;
    float f32_9;
    u32_0 = get_global_id(0);
    u32_1 = get_global_id(1);
    if (u32_1 < n0) {
        u32_2 = u32_1 * a_stride0;
        u32_3 = (u32_1 + 2) * a_stride0;
        u32_4 = (u32_1 + 1) * a_stride0;
        u32_1 = u32_1 * y_stride0;
        const uint base = u32_0 * 4;
        if (base + 3 < n1) {
            u32_5 = (u32_2 + u32_0) * 4;
            const float4 a_i = LOAD(float4, a + u32_5);
            f32_6 = a[(ulong)u32_5 + 4];
            u32_5 = (u32_3 + u32_0) * 4;
            const float4 a_i_2 = LOAD(float4, a + u32_5);
            f32_7 = a[(ulong)u32_5 + 4];
            u32_5 = (u32_4 + u32_0) * 4;
            const float4 a_i_4 = LOAD(float4, a + u32_5);
            f32_8 = a_i_4.s2;
            const float lane_9 = a_i_4.s3;
            const float2 a_i_5 = LOAD(float2, a + ((ulong)u32_5 + 4));
            f32_9 = (a_i.s2 + a_i_2.s2 + a_i_4.s1 + lane_9) * s0;
            f32_6 = (f32_6 + f32_7 + lane_9 + a_i_5.s1) * s0;
            u32_0 = (u32_1 + u32_0 * 2) * 2;
            STORE(float2, y + u32_0, (float2)((a_i.s1 + a_i_2.s1 + a_i_4.s0 + f32_8) * s0, f32_9));
            STORE(float2, y + (u32_0 + 2), (float2)((a_i.s3 + a_i_2.s3 + f32_8 + a_i_5.s0) * s0, f32_6));
        } else {
            u32_2 = u32_2 * 4;
            u32_3 = u32_3 * 4;
            u32_4 = u32_4 * 4;
            u32_1 = u32_1 * 2;
            for (uint j = base; j < n1; ++j) {
                u32_0 = j + 1;
                f32_6 = a[u32_2 + u32_0];
                f32_8 = a[u32_3 + u32_0];
                f32_9 = a[u32_4 + j];
                f32_7 = a[u32_4 + (j + 2)];
                y[u32_1 + j] = (f32_6 + f32_8 + f32_9 + f32_7) * s0;
            }
        }
    }
}
