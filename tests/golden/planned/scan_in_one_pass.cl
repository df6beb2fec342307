/* y = cumulative_sum(x); x = a    in f32, 256 work-items a row, tiles of 4096 */
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void cumulative_sum(const uint m,
                    const uint blocks,
                    const uint per,
                    const uint s,
                    __global const float *restrict a_buffer,
                    const ulong a_offset,
                    __global volatile ulong *restrict words_buffer,
                    const ulong words_offset,
                    __global float *restrict y_buffer,
                    const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global volatile ulong *words = AT(words_buffer, words_offset);
    __global float *y = AT(y_buffer, y_offset);
    float f32_0;
    int i32_1;
    __local uint claimed[1];
    __local float totals[1024];
    __local float shared[512];
    __local float shared_1[256];
    const int lane = get_local_id(0);
    const bool is_equal = lane == 0;
    if (is_equal) {
        const ulong words_before = atom_add(words, 1uL);
        claimed[0] = (uint)words_before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint tile = claimed[0];
    const uint first_block = tile * 1024;
    float own[16];
    #pragma unroll 4
    for (int stripe = 0; stripe < 4; ++stripe) {
        const uint block = first_block + (uint)(stripe * 256 + lane);
        if ((block + 1) * 4 <= m) {
            const float4 a_i = LOAD(float4, a + block * 4);
            const int product_2 = stripe * 4;
            own[product_2] = a_i.s0;
            own[product_2 + 1] = a_i.s1;
            own[product_2 + 2] = a_i.s2;
            own[product_2 + 3] = a_i.s3;
        } else {
            const uint product_3 = block * 4;
            const int product_4 = stripe * 4;
            #pragma unroll 4
            for (int step_1 = 0; step_1 < 4; ++step_1) {
                const uint r = product_3 + (uint)step_1;
                f32_0 = 0.0f;
                if (r < m) {
                    const float a_i_1 = a[r];
                    f32_0 = a_i_1;
                }
                own[product_4 + step_1] = f32_0;
            }
        }
    }
    #pragma unroll 4
    for (int stripe_1 = 0; stripe_1 < 4; ++stripe_1) {
        const int product_5 = stripe_1 * 4;
        #pragma unroll 4
        for (int step_2 = product_5 + 1; step_2 < product_5 + 4; ++step_2) {
            own[step_2] = own[step_2 - 1] + own[step_2];
        }
    }
    #pragma unroll 4
    for (int stripe_2 = 0; stripe_2 < 4; ++stripe_2) {
        totals[stripe_2 * 256 + lane] = own[stripe_2 * 4 + 4 - 1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float taken[4];
    const int product_8 = lane * 4;
    taken[0] = totals[product_8];
    #pragma unroll 4
    for (int number = 1; number < 4; ++number) {
        taken[number] = taken[number - 1] + totals[product_8 + number];
    }
    const float scanned = taken[3];
    shared[lane] = scanned;
    barrier(CLK_LOCAL_MEM_FENCE);
    f32_0 = scanned;
    i32_1 = 1;
    #pragma unroll 8
    for (int turn = 0; turn < 8; ++turn) {
        if (lane >= i32_1) {
            const float scanned_2 = shared[(turn & 1) * 256 + (lane - i32_1)] + f32_0;
            f32_0 = scanned_2;
        }
        shared[((turn + 1) & 1) * 256 + lane] = f32_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        const int distance_2 = i32_1 * 2;
        i32_1 = distance_2;
    }
    f32_0 = 0.0f;
    if (lane != 0) {
        f32_0 = 0.0f + shared[lane - 1];
    }
    const float before = f32_0;
    const float tile_total = shared[255];
    totals[product_8] = before;
    #pragma unroll 4
    for (int number_1 = 1; number_1 < 4; ++number_1) {
        totals[product_8 + number_1] = before + taken[number_1 - 1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_equal) {
        const ulong return_1 = 4294967296uL | (ulong)as_uint(tile_total);
        atom_xchg(words + (1 + tile), return_1);
    }
    #pragma unroll 4
    for (int stripe_3 = 0; stripe_3 < 4; ++stripe_3) {
        const int product_11 = stripe_3 * 4;
        const int sum_21 = stripe_3 * 256 + lane;
        #pragma unroll 4
        for (int step_3 = product_11; step_3 < product_11 + 4; ++step_3) {
            own[step_3] = totals[sum_21] + own[step_3];
        }
    }
    const uint span = tile / 256;
    const uint end = span * 256 + (uint)lane;
    const uint sum_23 = s + span;
    const uint number_2 = is_equal ? sum_23 - 1 : end - 1;
    f32_0 = 0.0f;
    if (end != 0 && end <= tile) {
        const uint sum_24 = 1 + number_2;
        const ulong word = *(volatile __global ulong *)(words + sum_24);
        ulong word_1 = word;
        while (word_1 >> 32 == 0) {
            const ulong word_2 = *(volatile __global ulong *)(words + sum_24);
            word_1 = word_2;
        }
        const float return_2 = as_float((uint)(word_1 & 4294967295uL));
        f32_0 = return_2;
    }
    shared_1[lane] = f32_0;
    barrier(CLK_LOCAL_MEM_FENCE);
    i32_1 = 1;
    const int sum_25 = lane + 1;
    #pragma unroll 8
    for (int _ = 0; _ < 8; ++_) {
        if ((sum_25 & (2 * i32_1 - 1)) == 0) {
            shared_1[lane] = shared_1[lane - i32_1] + shared_1[lane];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int distance_4 = i32_1 * 2;
        i32_1 = distance_4;
    }
    const float return_3 = shared_1[255];
    bool v_2 = is_equal;
    if (is_equal) {
        v_2 = (tile + 1) % 256 == 0;
    }
    if (v_2) {
        const ulong return_4 = 4294967296uL | (ulong)as_uint(return_3 + tile_total);
        atom_xchg(words + (1 + sum_23), return_4);
    }
    #pragma unroll 4
    for (int stripe_4 = 0; stripe_4 < 4; ++stripe_4) {
        const uint block_1 = first_block + (uint)(stripe_4 * 256 + lane);
        const int product_16 = stripe_4 * 4;
        #pragma unroll 4
        for (int step_4 = product_16; step_4 < product_16 + 4; ++step_4) {
            own[step_4] = return_3 + own[step_4];
        }
        if ((block_1 + 1) * 4 <= m) {
            const float own_value_8 = own[product_16 + 3];
            const float4 joined = (float4)(own[product_16], own[product_16 + 1], own[product_16 + 2], own_value_8);
            STORE(float4, y + block_1 * 4, joined);
        } else {
            const uint product_18 = block_1 * 4;
            #pragma unroll 4
            for (int step_5 = 0; step_5 < 4; ++step_5) {
                const uint sum_37 = product_18 + (uint)step_5;
                if (sum_37 < m) {
                    y[sum_37] = own[product_16 + step_5];
                }
            }
        }
    }
}
