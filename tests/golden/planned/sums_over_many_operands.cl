/* y = sum(a*b + c*d + e*f)    f32, in f32, by rows */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void mul_add_sum(const uint n0,
                 const uint m,
                 __global const float *restrict a_buffer,
                 const ulong a_offset,
                 const uint a_stride0,
                 __global const float *restrict b_buffer,
                 const ulong b_offset,
                 const uint b_stride0,
                 __global const float *restrict c_buffer,
                 const ulong c_offset,
                 const uint c_stride0,
                 __global const float *restrict d_buffer,
                 const ulong d_offset,
                 const uint d_stride0,
                 __global const float *restrict e_buffer,
                 const ulong e_offset,
                 const uint e_stride0,
                 __global const float *restrict f_buffer,
                 const ulong f_offset,
                 const uint f_stride0,
                 __global float *restrict y_buffer,
                 const ulong y_offset,
                 const uint y_stride0)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global const float *b = AT(b_buffer, b_offset);
    __global const float *c = AT(c_buffer, c_offset);
    __global const float *d = AT(d_buffer, d_offset);
    __global const float *e = AT(e_buffer, e_offset);
    __global const float *f = AT(f_buffer, f_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint o = get_group_id(0);
    const uint l = get_local_id(0);
    const uint vectors = m / 4;
    const uint rounds = vectors / 1024;
    const uint product = rounds * 1024;
    float4 acc = (float4)(0.0f);
    const uint a_row = o * a_stride0;
    const uint b_row = o * b_stride0;
    const uint c_row = o * c_stride0;
    const uint d_row = o * d_stride0;
    const uint e_row = o * e_stride0;
    const uint f_row = o * f_stride0;
    for (uint chain = 0; chain < 4; ++chain) {
        float4 acc_1 = (float4)(0.0f);
        const uint product_1 = chain * 256;
        for (uint round_1 = 0; round_1 < rounds; ++round_1) {
            const uint sum_1 = round_1 * 1024 + product_1 + l;
            const float4 a_i = LOAD(float4, a + (a_row + sum_1) * 4);
            const float4 b_i = LOAD(float4, b + (b_row + sum_1) * 4);
            const float4 c_i = LOAD(float4, c + (c_row + sum_1) * 4);
            const float4 d_i = LOAD(float4, d + (d_row + sum_1) * 4);
            const float4 e_i = LOAD(float4, e + (e_row + sum_1) * 4);
            const float4 f_i = LOAD(float4, f + (f_row + sum_1) * 4);
            acc_1 = acc_1 + (a_i * b_i + c_i * d_i + e_i * f_i);
        }
        if (chain == 0) {
            const uint a_row_1 = o * a_stride0;
            const uint b_row_1 = o * b_stride0;
            const uint c_row_1 = o * c_stride0;
            const uint d_row_1 = o * d_stride0;
            const uint e_row_1 = o * e_stride0;
            const uint f_row_1 = o * f_stride0;
            for (uint v = product + l; v < vectors; v += 256) {
                const float4 a_i_1 = LOAD(float4, a + (a_row_1 + v) * 4);
                const float4 b_i_1 = LOAD(float4, b + (b_row_1 + v) * 4);
                const float4 c_i_1 = LOAD(float4, c + (c_row_1 + v) * 4);
                const float4 d_i_1 = LOAD(float4, d + (d_row_1 + v) * 4);
                const float4 e_i_1 = LOAD(float4, e + (e_row_1 + v) * 4);
                const float4 f_i_1 = LOAD(float4, f + (f_row_1 + v) * 4);
                acc_1 = acc_1 + (a_i_1 * b_i_1 + c_i_1 * d_i_1 + e_i_1 * f_i_1);
            }
        }
        acc = acc + acc_1;
    }
    const float2 sum_10 = acc.lo + acc.hi;
    float total = sum_10.lo + sum_10.hi;
    const uint product_10 = o * a_stride0 * 4;
    const uint product_11 = o * b_stride0 * 4;
    const uint product_12 = o * c_stride0 * 4;
    const uint product_13 = o * d_stride0 * 4;
    const uint product_14 = o * e_stride0 * 4;
    const uint product_15 = o * f_stride0 * 4;
    for (uint r = vectors * 4 + l; r < m; r += 256) {
        const float a_i_2 = a[product_10 + r];
        const float b_i_2 = b[product_11 + r];
        const float c_i_2 = c[product_12 + r];
        const float d_i_2 = d[product_13 + r];
        const float e_i_2 = e[product_14 + r];
        const float f_i_2 = f[product_15 + r];
        total = total + (a_i_2 * b_i_2 + c_i_2 * d_i_2 + e_i_2 * f_i_2);
    }
    __local float shared[256];
    shared[l] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 16) {
        for (uint other = l + 16; other < 256; other += 16) {
            const float kept = shared[other];
            total = total + kept;
        }
        shared[l] = total;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float kept_1 = shared[0];
    total = kept_1;
    #pragma unroll 16
    for (uint other_1 = 1; other_1 < 16; ++other_1) {
        const float kept_2 = shared[other_1];
        total = total + kept_2;
    }
    if (l == 0) {
        y[o * y_stride0] = total;
    }
}
