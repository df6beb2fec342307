/* u32, 256 work-items a tile of 2048 */
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
    const int item = get_local_id(0);
    const int upper = item + 256;
    __local uint shared_u32[512];
    __local uint starts[256];
    __local uint offsets[256];
    __local uint tile[2112];
    __local uint tile_1[2112];
    __local uint tile_2[2112];
    __local uint total[1];
    const int lane = get_local_id(0);
    const int group = get_group_id(0);
    const uint converted = (uint)group;
    uint quotient;
    quotient = s != 0 ? converted / s : 0;
    uint tile_3;
    tile_3 = s != 0 ? converted % s : 0;
    const uint begin = tile_3 * 2048;
    const uint difference = m - begin;
    const uint count = min(difference, 2048u);
    const bool differs = tile_3 != 0;
    for (int digit = lane; digit < 256; digit += 256) {
        u32_0 = 0u;
        if (digit != 0 || differs) {
            const uint difference_1 = (quotient * 256 + (uint)digit) * s + tile_3 - 1;
            const uint before_1 = counts[difference_1];
            u32_0 = before_1;
        }
        const uint return_1 = u32_0;
        offsets[digit] = return_1;
    }
    const int return_2 = lane + lane / 32;
    const long converted_2 = (long)count;
    #pragma unroll 8
    for (int step_1 = 0; step_1 < 8; ++step_1) {
        const int number = lane + step_1 * 256;
        const int return_3 = return_2 + step_1 * 264;
        const bool is_less = (long)number < converted_2;
        u32_0 = 0u;
        if (is_less) {
            const uint a_i = a[begin + (uint)number];
            u32_0 = a_i;
        }
        tile[return_3] = u32_0;
        u32_0 = 0u;
        if (is_less) {
            u32_0 = places[quotient * m + (begin + (uint)number)];
        }
        tile_1[return_3] = u32_0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint own[8];
    uint items[8];
    uint ranks[8];
    const int product_5 = lane * 8;
    const int return_4 = product_5 + product_5 / 32;
    #pragma unroll 8
    for (int step_2 = 0; step_2 < 8; ++step_2) {
        const int sum_5 = return_4 + step_2;
        own[step_2] = tile[sum_5];
        items[step_2] = tile_1[sum_5];
    }
    const int return_5 = lane + lane / 32;
    tile_2[return_5] = 0u;
    const int return_6 = return_5 + 264;
    tile_2[return_6] = 0u;
    const int return_7 = return_5 + 528;
    tile_2[return_7] = 0u;
    const int return_8 = return_5 + 792;
    tile_2[return_8] = 0u;
    const int return_9 = return_5 + 1056;
    tile_2[return_9] = 0u;
    const int return_10 = return_5 + 1320;
    tile_2[return_10] = 0u;
    const int return_11 = return_5 + 1584;
    tile_2[return_11] = 0u;
    const int return_12 = return_5 + 1848;
    tile_2[return_12] = 0u;
    uint slots[8];
    const long converted_6 = (long)count;
    const uint converted_7 = (uint)return_5;
    #pragma unroll 8
    for (int step_3 = 0; step_3 < 8; ++step_3) {
        const uint half_1 = (shift < 32 ? own[step_3] >> shift : 0) & 255 & 15;
        u32_0 = half_1;
        if ((long)(product_5 + step_3) >= converted_6) {
            u32_0 = 15u;
        }
        const uint word = u32_0 & 7;
        const uint slot = converted_7 + word * 264;
        const uint upper_1 = u32_0 / 8 * 16;
        slots[step_3] = (slot << 5) | upper_1;
        const int converted_9 = (int)slot;
        const uint packed = tile_2[converted_9];
        ranks[step_3] = (upper_1 < 32 ? packed >> upper_1 : 0) & 65535;
        tile_2[converted_9] = packed + (upper_1 < 32 ? 1u << upper_1 : 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before_2[8];
    before_2[0] = 0u;
    const uint tile_2_value = tile_2[return_4];
    before_2[1] = tile_2_value;
    const int sum_8 = return_4 + 1;
    const uint sum_ = tile_2_value + tile_2[sum_8];
    before_2[2] = sum_;
    const int sum_9 = return_4 + 2;
    const uint sum__1 = sum_ + tile_2[sum_9];
    before_2[3] = sum__1;
    const int sum_10 = return_4 + 3;
    const uint sum__2 = sum__1 + tile_2[sum_10];
    before_2[4] = sum__2;
    const int sum_11 = return_4 + 4;
    const uint sum__3 = sum__2 + tile_2[sum_11];
    before_2[5] = sum__3;
    const int sum_12 = return_4 + 5;
    const uint sum__4 = sum__3 + tile_2[sum_12];
    before_2[6] = sum__4;
    const int sum_13 = return_4 + 6;
    const uint sum__5 = sum__4 + tile_2[sum_13];
    before_2[7] = sum__5;
    const int sum_14 = return_4 + 7;
    const uint sum__6 = sum__5 + tile_2[sum_14];
    shared_u32[item] = sum__6;
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_at_least_1 = item >= 1;
    if (is_at_least_1) {
        shared_u32[upper] = shared_u32[item - 1] + shared_u32[item];
    } else {
        shared_u32[upper] = shared_u32[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_at_least_2 = item >= 2;
    if (is_at_least_2) {
        shared_u32[item] = shared_u32[item + 254] + shared_u32[upper];
    } else {
        shared_u32[item] = shared_u32[upper];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_at_least_3 = item >= 4;
    if (is_at_least_3) {
        shared_u32[upper] = shared_u32[item - 4] + shared_u32[item];
    } else {
        shared_u32[upper] = shared_u32[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_at_least_4 = item >= 8;
    if (is_at_least_4) {
        shared_u32[item] = shared_u32[item + 248] + shared_u32[upper];
    } else {
        shared_u32[item] = shared_u32[upper];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_at_least_5 = item >= 16;
    if (is_at_least_5) {
        shared_u32[upper] = shared_u32[item - 16] + shared_u32[item];
    } else {
        shared_u32[upper] = shared_u32[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_at_least_6 = item >= 32;
    if (is_at_least_6) {
        shared_u32[item] = shared_u32[item + 224] + shared_u32[upper];
    } else {
        shared_u32[item] = shared_u32[upper];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_at_least_7 = item >= 64;
    if (is_at_least_7) {
        shared_u32[upper] = shared_u32[item - 64] + shared_u32[item];
    } else {
        shared_u32[upper] = shared_u32[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_at_least_8 = item >= 128;
    if (is_at_least_8) {
        shared_u32[item] = shared_u32[item + 128] + shared_u32[upper];
    } else {
        shared_u32[item] = shared_u32[upper];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int difference_6 = max(item, 1) - 1;
    const bool is_equal = item == 0;
    const uint group_exclusive_scan = is_equal ? 0 : shared_u32[difference_6];
    const bool is_equal_1 = lane == 255;
    if (is_equal_1) {
        total[0] = (group_exclusive_scan + sum__6) << 16;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tile_2[return_4] = group_exclusive_scan + total[0] + before_2[0];
    tile_2[sum_8] = group_exclusive_scan + total[0] + before_2[1];
    tile_2[sum_9] = group_exclusive_scan + total[0] + before_2[2];
    tile_2[sum_10] = group_exclusive_scan + total[0] + before_2[3];
    tile_2[sum_11] = group_exclusive_scan + total[0] + before_2[4];
    tile_2[sum_12] = group_exclusive_scan + total[0] + before_2[5];
    tile_2[sum_13] = group_exclusive_scan + total[0] + before_2[6];
    tile_2[sum_14] = group_exclusive_scan + total[0] + before_2[7];
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 8
    for (int step_4 = 0; step_4 < 8; ++step_4) {
        const uint packed_1 = tile_2[(int)(slots[step_4] >> 5)];
        const uint upper_2 = slots[step_4] & 31;
        ranks[step_4] = ranks[step_4] + ((upper_2 < 32 ? packed_1 >> upper_2 : 0) & 65535);
    }
    #pragma unroll 8
    for (int step_5 = 0; step_5 < 8; ++step_5) {
        const uint ranks_value_1 = ranks[step_5];
        const uint return_13 = ranks_value_1 + ranks_value_1 / 32;
        const int converted_11 = (int)return_13;
        tile[converted_11] = own[step_5];
        tile_1[converted_11] = items[step_5];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 8
    for (int step_6 = 0; step_6 < 8; ++step_6) {
        const int sum_45 = return_4 + step_6;
        own[step_6] = tile[sum_45];
        items[step_6] = tile_1[sum_45];
    }
    tile_2[return_5] = 0u;
    tile_2[return_6] = 0u;
    tile_2[return_7] = 0u;
    tile_2[return_8] = 0u;
    tile_2[return_9] = 0u;
    tile_2[return_10] = 0u;
    tile_2[return_11] = 0u;
    tile_2[return_12] = 0u;
    uint slots_1[8];
    const long converted_12 = (long)count;
    const uint converted_13 = (uint)return_5;
    #pragma unroll 8
    for (int step_7 = 0; step_7 < 8; ++step_7) {
        const uint half_3 = (((shift < 32 ? own[step_7] >> shift : 0) & 255) >> 4) & 15;
        u32_0 = half_3;
        if ((long)(product_5 + step_7) >= converted_12) {
            u32_0 = 15u;
        }
        const uint word_1 = u32_0 & 7;
        const uint slot_1 = converted_13 + word_1 * 264;
        const uint upper_3 = u32_0 / 8 * 16;
        slots_1[step_7] = (slot_1 << 5) | upper_3;
        const int converted_15 = (int)slot_1;
        const uint packed_2 = tile_2[converted_15];
        ranks[step_7] = (upper_3 < 32 ? packed_2 >> upper_3 : 0) & 65535;
        tile_2[converted_15] = packed_2 + (upper_3 < 32 ? 1u << upper_3 : 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before_3[8];
    before_3[0] = 0u;
    const uint tile_2_value_8 = tile_2[return_4];
    before_3[1] = tile_2_value_8;
    const uint sum__7 = tile_2_value_8 + tile_2[sum_8];
    before_3[2] = sum__7;
    const uint sum__8 = sum__7 + tile_2[sum_9];
    before_3[3] = sum__8;
    const uint sum__9 = sum__8 + tile_2[sum_10];
    before_3[4] = sum__9;
    const uint sum__10 = sum__9 + tile_2[sum_11];
    before_3[5] = sum__10;
    const uint sum__11 = sum__10 + tile_2[sum_12];
    before_3[6] = sum__11;
    const uint sum__12 = sum__11 + tile_2[sum_13];
    before_3[7] = sum__12;
    const uint sum__13 = sum__12 + tile_2[sum_14];
    barrier(CLK_LOCAL_MEM_FENCE);
    shared_u32[item] = sum__13;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_at_least_1) {
        shared_u32[upper] = shared_u32[item - 1] + shared_u32[item];
    } else {
        shared_u32[upper] = shared_u32[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_at_least_2) {
        shared_u32[item] = shared_u32[item + 254] + shared_u32[upper];
    } else {
        shared_u32[item] = shared_u32[upper];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_at_least_3) {
        shared_u32[upper] = shared_u32[item - 4] + shared_u32[item];
    } else {
        shared_u32[upper] = shared_u32[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_at_least_4) {
        shared_u32[item] = shared_u32[item + 248] + shared_u32[upper];
    } else {
        shared_u32[item] = shared_u32[upper];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_at_least_5) {
        shared_u32[upper] = shared_u32[item - 16] + shared_u32[item];
    } else {
        shared_u32[upper] = shared_u32[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_at_least_6) {
        shared_u32[item] = shared_u32[item + 224] + shared_u32[upper];
    } else {
        shared_u32[item] = shared_u32[upper];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_at_least_7) {
        shared_u32[upper] = shared_u32[item - 64] + shared_u32[item];
    } else {
        shared_u32[upper] = shared_u32[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_at_least_8) {
        shared_u32[item] = shared_u32[item + 128] + shared_u32[upper];
    } else {
        shared_u32[item] = shared_u32[upper];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint group_exclusive_scan_1 = is_equal ? 0 : shared_u32[difference_6];
    if (is_equal_1) {
        total[0] = (group_exclusive_scan_1 + sum__13) << 16;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tile_2[return_4] = group_exclusive_scan_1 + total[0] + before_3[0];
    tile_2[sum_8] = group_exclusive_scan_1 + total[0] + before_3[1];
    tile_2[sum_9] = group_exclusive_scan_1 + total[0] + before_3[2];
    tile_2[sum_10] = group_exclusive_scan_1 + total[0] + before_3[3];
    tile_2[sum_11] = group_exclusive_scan_1 + total[0] + before_3[4];
    tile_2[sum_12] = group_exclusive_scan_1 + total[0] + before_3[5];
    tile_2[sum_13] = group_exclusive_scan_1 + total[0] + before_3[6];
    tile_2[sum_14] = group_exclusive_scan_1 + total[0] + before_3[7];
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 8
    for (int step_8 = 0; step_8 < 8; ++step_8) {
        const uint packed_3 = tile_2[(int)(slots_1[step_8] >> 5)];
        const uint upper_4 = slots_1[step_8] & 31;
        ranks[step_8] = ranks[step_8] + ((upper_4 < 32 ? packed_3 >> upper_4 : 0) & 65535);
    }
    #pragma unroll 8
    for (int step_9 = 0; step_9 < 8; ++step_9) {
        const uint ranks_value_3 = ranks[step_9];
        const uint return_14 = ranks_value_3 + ranks_value_3 / 32;
        const int converted_17 = (int)return_14;
        tile[converted_17] = own[step_9];
        tile_1[converted_17] = items[step_9];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint digits[8];
    const long converted_18 = (long)count;
    #pragma unroll 8
    for (int step_10 = 0; step_10 < 8; ++step_10) {
        const int number_1 = lane + step_10 * 256;
        const int return_15 = return_5 + step_10 * 264;
        own[step_10] = tile[return_15];
        digits[step_10] = (shift < 32 ? own[step_10] >> shift : 0) & 255;
        const int difference_11 = max(number_1, 1) - 1;
        const int return_16 = difference_11 + difference_11 / 32;
        const uint before_4 = (shift < 32 ? tile[return_16] >> shift : 0) & 255;
        const bool is_less_1 = (long)number_1 < converted_18;
        bool v_2 = is_less_1;
        if (is_less_1) {
            const bool is_equal_2 = number_1 == 0;
            bool v_3 = is_equal_2;
            if (!is_equal_2) {
                v_3 = before_4 != digits[step_10];
            }
            v_2 = v_3;
        }
        if (v_2) {
            starts[(int)digits[step_10]] = (uint)number_1;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long converted_22 = (long)count;
    #pragma unroll 8
    for (int step_11 = 0; step_11 < 8; ++step_11) {
        const int number_2 = lane + step_11 * 256;
        if ((long)number_2 < converted_22) {
            const uint difference_12 = (uint)number_2 - starts[(int)digits[step_11]];
            const uint at = offsets[(int)digits[step_11]] + difference_12;
            const int return_17 = return_5 + step_11 * 264;
            y1[quotient * m + at] = (long)tile_1[return_17];
        }
    }
}
