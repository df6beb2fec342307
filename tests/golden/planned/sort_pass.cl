/* f32, 256 work-items a tile of 4096 */
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
    const int item = get_local_id(0);
    const int upper = item + 256;
    __local uint shared_u32[512];
    __local uint starts[256];
    __local uint offsets[256];
    __local uint tile[4224];
    __local uint tile_1[2112];
    __local uint total[1];
    const int lane = get_local_id(0);
    const int group = get_group_id(0);
    const uint converted = (uint)group;
    uint quotient;
    quotient = s != 0 ? converted / s : 0;
    uint tile_2;
    tile_2 = s != 0 ? converted % s : 0;
    const uint begin = tile_2 * 4096;
    const uint difference = m - begin;
    const uint count = min(difference, 4096u);
    const bool differs = tile_2 != 0;
    for (int digit = lane; digit < 256; digit += 256) {
        u32_0 = 0u;
        if (digit != 0 || differs) {
            const uint difference_1 = (quotient * 256 + (uint)digit) * s + tile_2 - 1;
            const uint before_1 = counts[difference_1];
            u32_0 = before_1;
        }
        const uint return_1 = u32_0;
        offsets[digit] = return_1;
    }
    const int return_2 = lane + lane / 32;
    const long converted_2 = (long)count;
    #pragma unroll 16
    for (int step_1 = 0; step_1 < 16; ++step_1) {
        const int number = lane + step_1 * 256;
        const int return_3 = return_2 + step_1 * 264;
        u32_0 = 0u;
        if ((long)number < converted_2) {
            const uint a_i = a[begin + (uint)number];
            u32_0 = a_i;
        }
        tile[return_3] = u32_0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint own[16];
    uint ranks[16];
    const int product_4 = lane * 16;
    const int return_4 = product_4 + product_4 / 32;
    #pragma unroll 16
    for (int step_2 = 0; step_2 < 16; ++step_2) {
        own[step_2] = tile[return_4 + step_2];
    }
    const int return_5 = lane + lane / 32;
    tile_1[return_5] = 0u;
    const int return_6 = return_5 + 264;
    tile_1[return_6] = 0u;
    const int return_7 = return_5 + 528;
    tile_1[return_7] = 0u;
    const int return_8 = return_5 + 792;
    tile_1[return_8] = 0u;
    const int return_9 = return_5 + 1056;
    tile_1[return_9] = 0u;
    const int return_10 = return_5 + 1320;
    tile_1[return_10] = 0u;
    const int return_11 = return_5 + 1584;
    tile_1[return_11] = 0u;
    const int return_12 = return_5 + 1848;
    tile_1[return_12] = 0u;
    uint slots[16];
    const long converted_5 = (long)count;
    const uint converted_6 = (uint)return_5;
    #pragma unroll 16
    for (int step_3 = 0; step_3 < 16; ++step_3) {
        const uint own_value = own[step_3];
        const uint and_value = own_value & 2147483647;
        const uint shr_value = shift < 32 ? (and_value > 2139095040 ? 4294967295u : (and_value == 0 ? 2147483648u : own_value ^ (-(own_value >> 31) | (uint)1 << 31))) >> shift : 0;
        const uint half_1 = shr_value & 255 & 15;
        u32_0 = half_1;
        if ((long)(product_4 + step_3) >= converted_5) {
            u32_0 = 15u;
        }
        const uint word = u32_0 & 7;
        const uint slot = converted_6 + word * 264;
        const uint upper_1 = u32_0 / 8 * 16;
        slots[step_3] = (slot << 5) | upper_1;
        const int converted_8 = (int)slot;
        const uint packed = tile_1[converted_8];
        ranks[step_3] = (upper_1 < 32 ? packed >> upper_1 : 0) & 65535;
        tile_1[converted_8] = packed + (upper_1 < 32 ? 1u << upper_1 : 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before_2[8];
    const int product_6 = lane * 8;
    const int return_13 = product_6 + product_6 / 32;
    before_2[0] = 0u;
    const uint tile_1_value = tile_1[return_13];
    before_2[1] = tile_1_value;
    const int sum_6 = return_13 + 1;
    const uint sum_ = tile_1_value + tile_1[sum_6];
    before_2[2] = sum_;
    const int sum_7 = return_13 + 2;
    const uint sum__1 = sum_ + tile_1[sum_7];
    before_2[3] = sum__1;
    const int sum_8 = return_13 + 3;
    const uint sum__2 = sum__1 + tile_1[sum_8];
    before_2[4] = sum__2;
    const int sum_9 = return_13 + 4;
    const uint sum__3 = sum__2 + tile_1[sum_9];
    before_2[5] = sum__3;
    const int sum_10 = return_13 + 5;
    const uint sum__4 = sum__3 + tile_1[sum_10];
    before_2[6] = sum__4;
    const int sum_11 = return_13 + 6;
    const uint sum__5 = sum__4 + tile_1[sum_11];
    before_2[7] = sum__5;
    const int sum_12 = return_13 + 7;
    const uint sum__6 = sum__5 + tile_1[sum_12];
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
    const bool is_equal_1 = item == 0;
    const uint group_exclusive_scan = is_equal_1 ? 0 : shared_u32[difference_6];
    const bool is_equal_2 = lane == 255;
    if (is_equal_2) {
        total[0] = (group_exclusive_scan + sum__6) << 16;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tile_1[return_13] = group_exclusive_scan + total[0] + before_2[0];
    tile_1[sum_6] = group_exclusive_scan + total[0] + before_2[1];
    tile_1[sum_7] = group_exclusive_scan + total[0] + before_2[2];
    tile_1[sum_8] = group_exclusive_scan + total[0] + before_2[3];
    tile_1[sum_9] = group_exclusive_scan + total[0] + before_2[4];
    tile_1[sum_10] = group_exclusive_scan + total[0] + before_2[5];
    tile_1[sum_11] = group_exclusive_scan + total[0] + before_2[6];
    tile_1[sum_12] = group_exclusive_scan + total[0] + before_2[7];
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 16
    for (int step_4 = 0; step_4 < 16; ++step_4) {
        const uint packed_1 = tile_1[(int)(slots[step_4] >> 5)];
        const uint upper_2 = slots[step_4] & 31;
        ranks[step_4] = ranks[step_4] + ((upper_2 < 32 ? packed_1 >> upper_2 : 0) & 65535);
    }
    #pragma unroll 16
    for (int step_5 = 0; step_5 < 16; ++step_5) {
        const uint ranks_value_1 = ranks[step_5];
        const uint return_14 = ranks_value_1 + ranks_value_1 / 32;
        tile[(int)return_14] = own[step_5];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 16
    for (int step_6 = 0; step_6 < 16; ++step_6) {
        own[step_6] = tile[return_4 + step_6];
    }
    tile_1[return_5] = 0u;
    tile_1[return_6] = 0u;
    tile_1[return_7] = 0u;
    tile_1[return_8] = 0u;
    tile_1[return_9] = 0u;
    tile_1[return_10] = 0u;
    tile_1[return_11] = 0u;
    tile_1[return_12] = 0u;
    uint slots_1[16];
    const long converted_11 = (long)count;
    const uint converted_12 = (uint)return_5;
    #pragma unroll 16
    for (int step_7 = 0; step_7 < 16; ++step_7) {
        const uint own_value_2 = own[step_7];
        const uint and_value_4 = own_value_2 & 2147483647;
        const uint shr_value_4 = shift < 32 ? (and_value_4 > 2139095040 ? 4294967295u : (and_value_4 == 0 ? 2147483648u : own_value_2 ^ (-(own_value_2 >> 31) | (uint)1 << 31))) >> shift : 0;
        const uint half_3 = ((shr_value_4 & 255) >> 4) & 15;
        u32_0 = half_3;
        if ((long)(product_4 + step_7) >= converted_11) {
            u32_0 = 15u;
        }
        const uint word_1 = u32_0 & 7;
        const uint slot_1 = converted_12 + word_1 * 264;
        const uint upper_3 = u32_0 / 8 * 16;
        slots_1[step_7] = (slot_1 << 5) | upper_3;
        const int converted_14 = (int)slot_1;
        const uint packed_2 = tile_1[converted_14];
        ranks[step_7] = (upper_3 < 32 ? packed_2 >> upper_3 : 0) & 65535;
        tile_1[converted_14] = packed_2 + (upper_3 < 32 ? 1u << upper_3 : 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before_3[8];
    before_3[0] = 0u;
    const uint tile_1_value_8 = tile_1[return_13];
    before_3[1] = tile_1_value_8;
    const uint sum__7 = tile_1_value_8 + tile_1[sum_6];
    before_3[2] = sum__7;
    const uint sum__8 = sum__7 + tile_1[sum_7];
    before_3[3] = sum__8;
    const uint sum__9 = sum__8 + tile_1[sum_8];
    before_3[4] = sum__9;
    const uint sum__10 = sum__9 + tile_1[sum_9];
    before_3[5] = sum__10;
    const uint sum__11 = sum__10 + tile_1[sum_10];
    before_3[6] = sum__11;
    const uint sum__12 = sum__11 + tile_1[sum_11];
    before_3[7] = sum__12;
    const uint sum__13 = sum__12 + tile_1[sum_12];
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
    const uint group_exclusive_scan_1 = is_equal_1 ? 0 : shared_u32[difference_6];
    if (is_equal_2) {
        total[0] = (group_exclusive_scan_1 + sum__13) << 16;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tile_1[return_13] = group_exclusive_scan_1 + total[0] + before_3[0];
    tile_1[sum_6] = group_exclusive_scan_1 + total[0] + before_3[1];
    tile_1[sum_7] = group_exclusive_scan_1 + total[0] + before_3[2];
    tile_1[sum_8] = group_exclusive_scan_1 + total[0] + before_3[3];
    tile_1[sum_9] = group_exclusive_scan_1 + total[0] + before_3[4];
    tile_1[sum_10] = group_exclusive_scan_1 + total[0] + before_3[5];
    tile_1[sum_11] = group_exclusive_scan_1 + total[0] + before_3[6];
    tile_1[sum_12] = group_exclusive_scan_1 + total[0] + before_3[7];
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 16
    for (int step_8 = 0; step_8 < 16; ++step_8) {
        const uint packed_3 = tile_1[(int)(slots_1[step_8] >> 5)];
        const uint upper_4 = slots_1[step_8] & 31;
        ranks[step_8] = ranks[step_8] + ((upper_4 < 32 ? packed_3 >> upper_4 : 0) & 65535);
    }
    #pragma unroll 16
    for (int step_9 = 0; step_9 < 16; ++step_9) {
        const uint ranks_value_3 = ranks[step_9];
        const uint return_15 = ranks_value_3 + ranks_value_3 / 32;
        tile[(int)return_15] = own[step_9];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint digits[16];
    const long converted_17 = (long)count;
    #pragma unroll 16
    for (int step_10 = 0; step_10 < 16; ++step_10) {
        const int number_1 = lane + step_10 * 256;
        const int return_16 = return_5 + step_10 * 264;
        own[step_10] = tile[return_16];
        const uint own_value_4 = own[step_10];
        const uint and_value_8 = own_value_4 & 2147483647;
        const uint shr_value_9 = shift < 32 ? (and_value_8 > 2139095040 ? 4294967295u : (and_value_8 == 0 ? 2147483648u : own_value_4 ^ (-(own_value_4 >> 31) | (uint)1 << 31))) >> shift : 0;
        digits[step_10] = shr_value_9 & 255;
        const int difference_11 = max(number_1, 1) - 1;
        const int return_17 = difference_11 + difference_11 / 32;
        const uint tile_value_3 = tile[return_17];
        const uint and_value_10 = tile_value_3 & 2147483647;
        const uint shr_value_10 = shift < 32 ? (and_value_10 > 2139095040 ? 4294967295u : (and_value_10 == 0 ? 2147483648u : tile_value_3 ^ (-(tile_value_3 >> 31) | (uint)1 << 31))) >> shift : 0;
        const uint before_4 = shr_value_10 & 255;
        const bool is_less_1 = (long)number_1 < converted_17;
        bool v_1 = is_less_1;
        if (is_less_1) {
            const bool is_equal_6 = number_1 == 0;
            bool v_2 = is_equal_6;
            if (!is_equal_6) {
                v_2 = before_4 != digits[step_10];
            }
            v_1 = v_2;
        }
        if (v_1) {
            starts[(int)digits[step_10]] = (uint)number_1;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long converted_21 = (long)count;
    #pragma unroll 16
    for (int step_11 = 0; step_11 < 16; ++step_11) {
        const int number_2 = lane + step_11 * 256;
        if ((long)number_2 < converted_21) {
            const uint difference_12 = (uint)number_2 - starts[(int)digits[step_11]];
            const uint at = offsets[(int)digits[step_11]] + difference_12;
            y[quotient * m + at] = own[step_11];
        }
    }
}
