/* y = max(join_halves(u64(select(isnan(a + s0), s1, float_order(bitcast(a + s0)))), u64(s2 - b)))    u64, in u64, by columns */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))
#define LOAD_LOCAL(type, p) (*(__local const type *)(p))
#define STORE_LOCAL(type, p, value) (*(__local type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void add_isnan_bitcast_float_order_select_sub(const uint n0,
                                              const uint m,
                                              const uint per,
                                              __global const float *restrict a_buffer,
                                              const ulong a_offset,
                                              const uint a_stride1,
                                              const float s0,
                                              const uint s1,
                                              const uint s2,
                                              __global ulong *restrict y_buffer,
                                              const ulong y_offset,
                                              const uint y_stride1)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global ulong *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint l = get_local_id(0);
    const uint column = l % 32;
    const uint member = l / 32;
    const uint o = group * 32 + column;
    const uint part = get_global_id(1);
    const uint quotient = (n0 + 3) / 4;
    const bool inside = o < quotient;
    const uint last = quotient - 1;
    const uint row = min(o, last);
    const uint begin = part * per;
    const uint sum_1 = begin + per;
    const uint end = min(sum_1, m);
    ulong4 acc = (ulong4)(0);
    const uint rounds = (end - begin) / 64;
    const float4 repeated = (float4)(s0);
    const uint4 repeated_1 = (uint4)(s1);
    for (uint round_1 = 0; round_1 < rounds; ++round_1) {
        const uint row_1 = begin + round_1 * 64 + member;
        const uint row_2 = row_1 + 8;
        const uint row_3 = row_1 + 16;
        const uint row_4 = row_1 + 24;
        const uint row_5 = row_1 + 32;
        const uint row_6 = row_1 + 40;
        const uint row_7 = row_1 + 48;
        const uint row_8 = row_1 + 56;
        const float4 a_i = LOAD(float4, a + (row_1 * a_stride1 + row) * 4);
        const float4 a_i_1 = LOAD(float4, a + (row_2 * a_stride1 + row) * 4);
        const float4 a_i_2 = LOAD(float4, a + (row_3 * a_stride1 + row) * 4);
        const float4 a_i_3 = LOAD(float4, a + (row_4 * a_stride1 + row) * 4);
        const float4 a_i_4 = LOAD(float4, a + (row_5 * a_stride1 + row) * 4);
        const float4 a_i_5 = LOAD(float4, a + (row_6 * a_stride1 + row) * 4);
        const float4 a_i_6 = LOAD(float4, a + (row_7 * a_stride1 + row) * 4);
        const float4 a_i_7 = LOAD(float4, a + (row_8 * a_stride1 + row) * 4);
        const float4 sum_3 = a_i + repeated;
        const uint4 bits = as_uint4(sum_3);
        const ulong4 repeated_2 = (ulong4)((ulong)(s2 - row_1));
        const ulong4 key = convert_ulong4(select(bits ^ (-(bits >> (uint4)(31)) | (uint4)(1) << (uint4)(31)), repeated_1, isnan(sum_3))) << (ulong4)(32) | repeated_2;
        const float4 sum_4 = a_i_1 + repeated;
        const uint4 bits_1 = as_uint4(sum_4);
        const ulong4 repeated_3 = (ulong4)((ulong)(s2 - row_2));
        const ulong4 key_1 = convert_ulong4(select(bits_1 ^ (-(bits_1 >> (uint4)(31)) | (uint4)(1) << (uint4)(31)), repeated_1, isnan(sum_4))) << (ulong4)(32) | repeated_3;
        const float4 sum_5 = a_i_2 + repeated;
        const uint4 bits_2 = as_uint4(sum_5);
        const ulong4 repeated_4 = (ulong4)((ulong)(s2 - row_3));
        const ulong4 key_2 = convert_ulong4(select(bits_2 ^ (-(bits_2 >> (uint4)(31)) | (uint4)(1) << (uint4)(31)), repeated_1, isnan(sum_5))) << (ulong4)(32) | repeated_4;
        const float4 sum_6 = a_i_3 + repeated;
        const uint4 bits_3 = as_uint4(sum_6);
        const ulong4 repeated_5 = (ulong4)((ulong)(s2 - row_4));
        const ulong4 key_3 = convert_ulong4(select(bits_3 ^ (-(bits_3 >> (uint4)(31)) | (uint4)(1) << (uint4)(31)), repeated_1, isnan(sum_6))) << (ulong4)(32) | repeated_5;
        const float4 sum_7 = a_i_4 + repeated;
        const uint4 bits_4 = as_uint4(sum_7);
        const ulong4 repeated_6 = (ulong4)((ulong)(s2 - row_5));
        const ulong4 key_4 = convert_ulong4(select(bits_4 ^ (-(bits_4 >> (uint4)(31)) | (uint4)(1) << (uint4)(31)), repeated_1, isnan(sum_7))) << (ulong4)(32) | repeated_6;
        const float4 sum_8 = a_i_5 + repeated;
        const uint4 bits_5 = as_uint4(sum_8);
        const ulong4 repeated_7 = (ulong4)((ulong)(s2 - row_6));
        const ulong4 key_5 = convert_ulong4(select(bits_5 ^ (-(bits_5 >> (uint4)(31)) | (uint4)(1) << (uint4)(31)), repeated_1, isnan(sum_8))) << (ulong4)(32) | repeated_7;
        const float4 sum_9 = a_i_6 + repeated;
        const uint4 bits_6 = as_uint4(sum_9);
        const ulong4 repeated_8 = (ulong4)((ulong)(s2 - row_7));
        const ulong4 key_6 = convert_ulong4(select(bits_6 ^ (-(bits_6 >> (uint4)(31)) | (uint4)(1) << (uint4)(31)), repeated_1, isnan(sum_9))) << (ulong4)(32) | repeated_8;
        const float4 sum_10 = a_i_7 + repeated;
        const uint4 bits_7 = as_uint4(sum_10);
        const ulong4 repeated_9 = (ulong4)((ulong)(s2 - row_8));
        const ulong4 key_7 = convert_ulong4(select(bits_7 ^ (-(bits_7 >> (uint4)(31)) | (uint4)(1) << (uint4)(31)), repeated_1, isnan(sum_10))) << (ulong4)(32) | repeated_9;
        acc = max(acc, key);
        acc = max(acc, key_1);
        acc = max(acc, key_2);
        acc = max(acc, key_3);
        acc = max(acc, key_4);
        acc = max(acc, key_5);
        acc = max(acc, key_6);
        acc = max(acc, key_7);
    }
    const float4 repeated_10 = (float4)(s0);
    const uint4 repeated_11 = (uint4)(s1);
    for (uint r = begin + rounds * 64 + member; r < end; r += 8) {
        const float4 a_i_8 = LOAD(float4, a + (r * a_stride1 + row) * 4);
        const float4 sum_13 = a_i_8 + repeated_10;
        const uint4 bits_8 = as_uint4(sum_13);
        const ulong4 repeated_12 = (ulong4)((ulong)(s2 - r));
        const ulong4 key_8 = convert_ulong4(select(bits_8 ^ (-(bits_8 >> (uint4)(31)) | (uint4)(1) << (uint4)(31)), repeated_11, isnan(sum_13))) << (ulong4)(32) | repeated_12;
        acc = max(acc, key_8);
    }
    __local ulong shared[1024] __attribute__((aligned(32)));
    STORE_LOCAL(ulong4, shared + l * 4, acc);
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong4 kept = LOAD_LOCAL(ulong4, shared + column * 4);
    acc = kept;
    #pragma unroll 8
    for (uint other = 1; other < 8; ++other) {
        const ulong4 kept_1 = LOAD_LOCAL(ulong4, shared + (column + other * 32) * 4);
        acc = max(acc, kept_1);
    }
    if (member == 0 && inside) {
        STORE(ulong4, y + (part * y_stride1 + row) * 4, acc);
    }
}
