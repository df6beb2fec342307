/* y = exp(a - max(a))/sum(exp(a - max(a)))    f32, in f32, by rows */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void softmax_of_rows(const uint n0,
                     const uint m,
                     __global const float *restrict a_buffer,
                     const ulong a_offset,
                     const uint a_stride0,
                     __global float *restrict y_buffer,
                     const ulong y_offset,
                     const uint y_stride0)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    uint u32_0;
    uint u32_1;
    uint u32_2;
    float4 f32x4_3;
    float4 f32x4_4;
    float4 f32x4_5;
    float2 f32x2_6;
    float f32_7;
    float f32_8;
    u32_0 = get_group_id(0);
    const uint l = get_local_id(0);
    const uint member = l % 8;
    u32_1 = l / 8;
    const uint first = u32_1 * 8;
    u32_0 = u32_0 * 4 + u32_1;
    const bool inside = u32_0 < n0;
    u32_1 = n0 - 1;
    u32_0 = min(u32_0, u32_1);
    u32_1 = m / 4;
    u32_2 = member + 8;
    const bool there = u32_2 < u32_1;
    u32_1 = u32_1 - 1;
    u32_1 = min(u32_2, u32_1);
    u32_2 = u32_0 * a_stride0;
    f32x4_3 = LOAD(float4, a + (u32_2 + member) * 4);
    f32x4_4 = LOAD(float4, a + (u32_2 + u32_1) * 4);
    f32x4_5 = (float4)(-INFINITY);
    f32x4_5 = select(f32x4_3, f32x4_5, (f32x4_5 > f32x4_3) | isnan(f32x4_5));
    if (there) {
        f32x4_5 = select(f32x4_4, f32x4_5, (f32x4_5 > f32x4_4) | isnan(f32x4_5));
    }
    f32x2_6 = f32x4_5.lo;
    const float2 high_half = f32x4_5.hi;
    f32x2_6 = select(high_half, f32x2_6, (f32x2_6 > high_half) | isnan(f32x2_6));
    f32_7 = f32x2_6.lo;
    f32_8 = f32x2_6.hi;
    f32_7 = f32_7 > f32_8 || isnan(f32_7) ? f32_7 : f32_8;
    __local float shared[32];
    shared[l] = f32_7;
    barrier(CLK_LOCAL_MEM_FENCE);
    f32_8 = shared[first];
    f32_7 = f32_8;
    #pragma unroll 8
    for (uint other = 1; other < 8; ++other) {
        f32_8 = shared[first + other];
        f32_7 = f32_7 > f32_8 || isnan(f32_7) ? f32_7 : f32_8;
    }
    f32x4_3 = exp(f32x4_3 - f32_7);
    f32x4_4 = exp(f32x4_4 - f32_7);
    f32x4_5 = (float4)(0.0f);
    f32x4_5 = f32x4_5 + f32x4_3;
    if (there) {
        f32x4_5 = f32x4_5 + f32x4_4;
    }
    f32x2_6 = f32x4_5.lo + f32x4_5.hi;
    f32_7 = f32x2_6.lo + f32x2_6.hi;
    __local float shared_1[32];
    shared_1[l] = f32_7;
    barrier(CLK_LOCAL_MEM_FENCE);
    f32_8 = shared_1[first];
    f32_7 = f32_8;
    #pragma unroll 8
    for (uint other_1 = 1; other_1 < 8; ++other_1) {
        f32_8 = shared_1[first + other_1];
        f32_7 = f32_7 + f32_8;
    }
    f32x4_3 = f32x4_3 / f32_7;
    f32x4_4 = f32x4_4 / f32_7;
    if (inside) {
        u32_0 = u32_0 * y_stride0;
        STORE(float4, y + (u32_0 + member) * 4, f32x4_3);
        if (there) {
            STORE(float4, y + (u32_0 + u32_1) * 4, f32x4_4);
        }
    }
}
