/* f32, 256 work-items a tile of 2048 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void sort_by_digit(const uint m,
                   const uint s,
                   const uint shift,
                   __global const uint *restrict a_buffer,
                   const ulong a_offset,
                   __global const uint *restrict counts_buffer,
                   const ulong counts_offset,
                   __global uint *restrict y_buffer,
                   const ulong y_offset)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global const uint *counts = AT(counts_buffer, counts_offset);
    __global uint *y = AT(y_buffer, y_offset);
    uint u32_0;
    __local uint counts_1[2048];
    __local uint masks[2048];
    __local uint starts[256];
    __local uint offsets[256];
    __local uint totals[256];
    __local uint shared[512];
    __local uint staged[2048];
    const int lane = get_local_id(0);
    const int group = get_group_id(0);
    const uint converted = (uint)group;
    uint quotient;
    quotient = s != 0 ? converted / s : 0;
    uint tile;
    tile = s != 0 ? converted % s : 0;
    const uint begin = tile * 2048;
    const uint converted_1 = (uint)(lane / 32 * 256);
    const uint converted_2 = (uint)(lane % 32);
    const uint first = begin + converted_1 + converted_2;
    uint own[8];
    #pragma unroll 8
    for (int step_1 = 0; step_1 < 8; ++step_1) {
        const uint r = first + (uint)(step_1 * 32);
        u32_0 = 0u;
        if (r < m) {
            const uint a_i = a[r];
            u32_0 = a_i;
        }
        own[step_1] = u32_0;
    }
    uint ranks[8];
    for (int slot = lane; slot < 2048; slot += 256) {
        counts_1[slot] = 0u;
        masks[slot] = 0u;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint bit = converted_2 < 32 ? 1u << converted_2 : 0;
    const uint difference = bit - 1;
    #pragma unroll 8
    for (int step_2 = 0; step_2 < 8; ++step_2) {
        const bool is_there = first + (uint)(step_2 * 32) < m;
        const uint own_value = own[step_2];
        const uint and_value = own_value & 2147483647;
        const uint shr_value = shift < 32 ? (and_value > 2139095040 ? 4294967295u : (and_value == 0 ? 2147483648u : own_value ^ (-(own_value >> 31) | (uint)1 << 31))) >> shift : 0;
        const uint slot_1 = converted_1 + (shr_value & 255);
        if (is_there) {
            atomic_or(masks + (int)slot_1, bit);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int converted_6 = (int)slot_1;
        const uint mask = masks[converted_6];
        const uint lower = popcount(mask & difference);
        ranks[step_2] = counts_1[converted_6] + lower;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_there && lower == 0) {
            counts_1[converted_6] = counts_1[converted_6] + popcount(mask);
            masks[converted_6] = 0u;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint totals_1[1];
    u32_0 = 0u;
    #pragma unroll 8
    for (int part = 0; part < 8; ++part) {
        const int sum_4 = part * 256 + lane;
        const uint count = counts_1[sum_4];
        counts_1[sum_4] = u32_0;
        const uint total_1 = u32_0 + count;
        u32_0 = total_1;
    }
    totals_1[0] = u32_0;
    totals[lane] = totals_1[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint taken[1];
    taken[0] = totals[lane];
    const uint scanned = taken[0];
    shared[lane] = scanned;
    barrier(CLK_LOCAL_MEM_FENCE);
    u32_0 = scanned;
    int distance_1 = 1;
    #pragma unroll 8
    for (int turn = 0; turn < 8; ++turn) {
        if (lane >= distance_1) {
            const uint scanned_2 = shared[(turn & 1) * 256 + (lane - distance_1)] + u32_0;
            u32_0 = scanned_2;
        }
        shared[((turn + 1) & 1) * 256 + lane] = u32_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        const int distance_2 = distance_1 * 2;
        distance_1 = distance_2;
    }
    u32_0 = 0u;
    if (lane != 0) {
        u32_0 = shared[lane - 1];
    }
    const uint before = u32_0;
    totals[lane] = before;
    barrier(CLK_LOCAL_MEM_FENCE);
    starts[lane] = totals[lane];
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool differs_1 = tile != 0;
    for (int digit = lane; digit < 256; digit += 256) {
        u32_0 = 0u;
        if (digit != 0 || differs_1) {
            const uint difference_3 = (quotient * 256 + (uint)digit) * s + tile - 1;
            const uint before_2 = counts[difference_3];
            u32_0 = before_2;
        }
        const uint return_1 = u32_0;
        offsets[digit] = return_1 - starts[digit];
    }
    #pragma unroll 8
    for (int step_3 = 0; step_3 < 8; ++step_3) {
        const uint r_1 = first + (uint)(step_3 * 32);
        if (r_1 < m) {
            const uint own_value_1 = own[step_3];
            const uint and_value_6 = own_value_1 & 2147483647;
            const uint shr_value_1 = shift < 32 ? (and_value_6 > 2139095040 ? 4294967295u : (and_value_6 == 0 ? 2147483648u : own_value_1 ^ (-(own_value_1 >> 31) | (uint)1 << 31))) >> shift : 0;
            const uint digit_1 = shr_value_1 & 255;
            const uint sum_11 = starts[(int)digit_1] + counts_1[(int)(converted_1 + digit_1)];
            const uint at = sum_11 + ranks[step_3];
            staged[(int)at] = own[step_3];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint difference_5 = m - begin;
    const uint count_1 = min(difference_5, 2048u);
    const uint product_9 = quotient * m;
    for (int number = lane; number < (int)count_1; number += 256) {
        const uint bits = staged[number];
        const uint and_value_7 = bits & 2147483647;
        const uint shr_value_2 = shift < 32 ? (and_value_7 > 2139095040 ? 4294967295u : (and_value_7 == 0 ? 2147483648u : bits ^ (-(bits >> 31) | (uint)1 << 31))) >> shift : 0;
        const uint at_1 = offsets[(int)(shr_value_2 & 255)] + (uint)number;
        y[product_9 + at_1] = bits;
    }
}
