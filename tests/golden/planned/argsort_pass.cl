/* u32, 256 work-items a tile of 1024 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void argsort_by_digit(const uint m,
                      const uint s,
                      const uint shift,
                      __global const uint *restrict a_buffer,
                      const ulong a_offset,
                      __global const uint *restrict counts_buffer,
                      const ulong counts_offset,
                      __global const uint *restrict places_buffer,
                      const ulong places_offset,
                      __global long *restrict y1_buffer,
                      const ulong y1_offset)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global const uint *counts = AT(counts_buffer, counts_offset);
    __global const uint *places = AT(places_buffer, places_offset);
    __global long *y1 = AT(y1_buffer, y1_offset);
    uint u32_0;
    __local uint counts_1[2048];
    __local uint masks[2048];
    __local uint starts[256];
    __local uint offsets[256];
    __local uint totals[256];
    __local uint shared[512];
    __local uint staged[1024];
    __local uint staged_places[1024];
    const int lane = get_local_id(0);
    const int group = get_group_id(0);
    const uint converted = (uint)group;
    uint quotient;
    quotient = s != 0 ? converted / s : 0;
    uint tile;
    tile = s != 0 ? converted % s : 0;
    const uint begin = tile * 1024;
    const int quotient_1 = lane / 32;
    const uint converted_2 = (uint)(lane % 32);
    const uint first = begin + (uint)(quotient_1 * 128) + converted_2;
    uint own[4];
    #pragma unroll 4
    for (int step_1 = 0; step_1 < 4; ++step_1) {
        const uint r = first + (uint)(step_1 * 32);
        u32_0 = 0u;
        if (r < m) {
            const uint a_i = a[r];
            u32_0 = a_i;
        }
        own[step_1] = u32_0;
    }
    uint ranks[4];
    for (int slot = lane; slot < 2048; slot += 256) {
        counts_1[slot] = 0u;
        masks[slot] = 0u;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint bit = converted_2 < 32 ? 1u << converted_2 : 0;
    const uint converted_4 = (uint)(quotient_1 * 256);
    const uint difference = bit - 1;
    #pragma unroll 4
    for (int step_2 = 0; step_2 < 4; ++step_2) {
        const bool is_there = first + (uint)(step_2 * 32) < m;
        const uint slot_1 = converted_4 + ((shift < 32 ? own[step_2] >> shift : 0) & 255);
        if (is_there) {
            atomic_or(masks + (int)slot_1, bit);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int converted_7 = (int)slot_1;
        const uint mask = masks[converted_7];
        const uint lower = popcount(mask & difference);
        ranks[step_2] = counts_1[converted_7] + lower;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_there && lower == 0) {
            counts_1[converted_7] = counts_1[converted_7] + popcount(mask);
            masks[converted_7] = 0u;
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
    #pragma unroll 4
    for (int step_3 = 0; step_3 < 4; ++step_3) {
        const uint r_1 = first + (uint)(step_3 * 32);
        if (r_1 < m) {
            const uint digit_1 = (shift < 32 ? own[step_3] >> shift : 0) & 255;
            const uint counts_1_value_2 = counts_1[(int)((uint)(quotient_1 * 256) + digit_1)];
            const uint at = starts[(int)digit_1] + counts_1_value_2 + ranks[step_3];
            const int converted_13 = (int)at;
            staged[converted_13] = own[step_3];
            staged_places[converted_13] = places[quotient * m + r_1];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint difference_5 = m - begin;
    const uint count_1 = min(difference_5, 1024u);
    const uint product_12 = quotient * m;
    for (int number = lane; number < (int)count_1; number += 256) {
        const uint bits = staged[number];
        const uint at_1 = offsets[(int)((shift < 32 ? bits >> shift : 0) & 255)] + (uint)number;
        y1[product_12 + at_1] = (long)staged_places[number];
    }
}
