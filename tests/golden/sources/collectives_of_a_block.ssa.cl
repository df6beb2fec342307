/* over local ids of three dimensions */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(4, 3, 2)))
void collectives_of_a_block(__global const int *x_buffer,
                            const ulong x_offset,
                            __global int *before_buffer,
                            const ulong before_offset,
                            __global int *signs_buffer,
                            const ulong signs_offset,
                            __global long *sums_buffer,
                            const ulong sums_offset)
{
    __global const int *x = AT(x_buffer, x_offset);
    __global int *before = AT(before_buffer, before_offset);
    __global int *signs = AT(signs_buffer, signs_offset);
    __global long *sums = AT(sums_buffer, sums_offset);
    const int item_x = get_local_id(0);
    const int item_y = get_local_id(1);
    const int item_z = get_local_id(2);
    const int item = item_x + item_y * 4 + item_z * 12;
    const int upper = item + 24;
    __local int shared_i32[48];
    __local uchar shared_bool[24];
    __local long shared_i64[24];
    const uint group = get_group_id(1);
    const uint item_1 = get_local_id(0);
    const uint item_2 = get_local_id(1);
    const uint item_3 = get_local_id(2);
    const uint at = item_1 + item_2 * 4 + item_3 * 12;
    const uint sum_2 = group * 24 + at;
    const int value = x[sum_2];
    shared_i32[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item >= 1) {
        shared_i32[upper] = (int)((uint)shared_i32[item - 1] + (uint)shared_i32[item]);
    } else {
        shared_i32[upper] = shared_i32[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item >= 2) {
        shared_i32[item] = (int)((uint)shared_i32[item + 22] + (uint)shared_i32[upper]);
    } else {
        shared_i32[item] = shared_i32[upper];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item >= 4) {
        shared_i32[upper] = (int)((uint)shared_i32[item - 4] + (uint)shared_i32[item]);
    } else {
        shared_i32[upper] = shared_i32[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item >= 8) {
        shared_i32[item] = (int)((uint)shared_i32[item + 16] + (uint)shared_i32[upper]);
    } else {
        shared_i32[item] = shared_i32[upper];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item >= 16) {
        shared_i32[upper] = (int)((uint)shared_i32[item - 16] + (uint)shared_i32[item]);
    } else {
        shared_i32[upper] = shared_i32[item];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int group_exclusive_scan = item == 0 ? 0 : shared_i32[max(item, 1) + 23];
    before[sum_2] = group_exclusive_scan;
    shared_bool[item] = value > 45;
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less = item < 8;
    if (is_less) {
        shared_bool[item] = shared_bool[item] || shared_bool[item + 16];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less) {
        shared_bool[item] = shared_bool[item] || shared_bool[item + 8];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less_1 = item < 4;
    if (is_less_1) {
        shared_bool[item] = shared_bool[item] || shared_bool[item + 4];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less_2 = item < 2;
    if (is_less_2) {
        shared_bool[item] = shared_bool[item] || shared_bool[item + 2];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less_3 = item < 1;
    if (is_less_3) {
        shared_bool[item] = shared_bool[item] || shared_bool[item + 1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool group_any = shared_bool[0];
    if (group_any) {
        barrier(CLK_LOCAL_MEM_FENCE);
        shared_i32[item] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        const int third = shared_i32[3];
        barrier(CLK_LOCAL_MEM_FENCE);
        shared_bool[item] = value > (int)((uint)third - 100);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less) {
            shared_bool[item] = shared_bool[item] && shared_bool[item + 16];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less) {
            shared_bool[item] = shared_bool[item] && shared_bool[item + 8];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_1) {
            shared_bool[item] = shared_bool[item] && shared_bool[item + 4];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_2) {
            shared_bool[item] = shared_bool[item] && shared_bool[item + 2];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_3) {
            shared_bool[item] = shared_bool[item] && shared_bool[item + 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const bool is_small = shared_bool[0];
        signs[sum_2] = is_small ? (int)((third > 0) - (third < 0)) : 7;
    }
    shared_i64[item] = (long)value;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less) {
        shared_i64[item] = (long)((ulong)shared_i64[item] + (ulong)shared_i64[item + 16]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less) {
        shared_i64[item] = (long)((ulong)shared_i64[item] + (ulong)shared_i64[item + 8]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less_1) {
        shared_i64[item] = (long)((ulong)shared_i64[item] + (ulong)shared_i64[item + 4]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less_2) {
        shared_i64[item] = (long)((ulong)shared_i64[item] + (ulong)shared_i64[item + 2]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less_3) {
        shared_i64[item] = (long)((ulong)shared_i64[item] + (ulong)shared_i64[item + 1]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long total = shared_i64[0];
    if (at == 0) {
        sums[group] = total;
    }
}
