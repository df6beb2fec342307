/* y = sum(a)    f32, in f32, by columns */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void sums_of_columns(const uint n0,
                     const uint m,
                     __global const float *restrict a_buffer,
                     const ulong a_offset,
                     const uint a_stride1,
                     __global float *restrict y_buffer,
                     const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    uint u32_0;
    float4 f32x4_1;
    const uint o = get_group_id(0);
    const uint l = get_local_id(0);
    float4 acc = (float4)(0.0f);
    u32_0 = m / 256;
    for (uint round_1 = 0; round_1 < u32_0; ++round_1) {
        const uint row = round_1 * 256 + l;
        const float4 a_i = LOAD(float4, a + (row * a_stride1 + o) * 4);
        const float4 a_i_1 = LOAD(float4, a + ((row + 32) * a_stride1 + o) * 4);
        const float4 a_i_2 = LOAD(float4, a + ((row + 64) * a_stride1 + o) * 4);
        const float4 a_i_3 = LOAD(float4, a + ((row + 96) * a_stride1 + o) * 4);
        const float4 a_i_4 = LOAD(float4, a + ((row + 128) * a_stride1 + o) * 4);
        const float4 a_i_5 = LOAD(float4, a + ((row + 160) * a_stride1 + o) * 4);
        const float4 a_i_6 = LOAD(float4, a + ((row + 192) * a_stride1 + o) * 4);
        f32x4_1 = LOAD(float4, a + ((row + 224) * a_stride1 + o) * 4);
        acc = acc + a_i;
        acc = acc + a_i_1;
        acc = acc + a_i_2;
        acc = acc + a_i_3;
        acc = acc + a_i_4;
        acc = acc + a_i_5;
        acc = acc + a_i_6;
        acc = acc + f32x4_1;
    }
    for (uint r = u32_0 * 256 + l; r < m; r += 32) {
        f32x4_1 = LOAD(float4, a + (r * a_stride1 + o) * 4);
        acc = acc + f32x4_1;
    }
    __local float shared[128] __attribute__((aligned(16)));
    u32_0 = l * 4;
    STORE_LOCAL(float4, shared + u32_0, acc);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 16) {
        for (uint other = l + 16; other < 32; other += 16) {
            f32x4_1 = LOAD_LOCAL(float4, shared + other * 4);
            acc = acc + f32x4_1;
        }
        STORE_LOCAL(float4, shared + u32_0, acc);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    f32x4_1 = LOAD_LOCAL(float4, shared);
    acc = f32x4_1;
    #pragma unroll 16
    for (uint other_1 = 1; other_1 < 16; ++other_1) {
        f32x4_1 = LOAD_LOCAL(float4, shared + other_1 * 4);
        acc = acc + f32x4_1;
    }
    if (l == 0) {
        STORE(float4, y + o * 4, acc);
    }
}
