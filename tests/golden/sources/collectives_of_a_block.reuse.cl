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
    int i32_0;
    int i32_1;
    int i32_2;
    uint u32_3;
    uint u32_4;
    bool bool_5;
    i32_0 = get_local_id(0);
    i32_1 = get_local_id(1);
    i32_2 = get_local_id(2);
    i32_0 = i32_0 + i32_1 * 4 + i32_2 * 12;
    i32_1 = i32_0 + 24;
    __local int shared_i32[48];
    __local uchar shared_bool[24];
    __local long shared_i64[24];
    const uint group = get_group_id(1);
    u32_3 = get_local_id(0);
    u32_4 = get_local_id(1);
    const uint item_3 = get_local_id(2);
    u32_3 = u32_3 + u32_4 * 4 + item_3 * 12;
    u32_4 = group * 24 + u32_3;
    i32_2 = x[u32_4];
    shared_i32[i32_0] = i32_2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i32_0 >= 1) {
        shared_i32[i32_1] = (int)((uint)shared_i32[i32_0 - 1] + (uint)shared_i32[i32_0]);
    } else {
        shared_i32[i32_1] = shared_i32[i32_0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i32_0 >= 2) {
        shared_i32[i32_0] = (int)((uint)shared_i32[i32_0 + 22] + (uint)shared_i32[i32_1]);
    } else {
        shared_i32[i32_0] = shared_i32[i32_1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i32_0 >= 4) {
        shared_i32[i32_1] = (int)((uint)shared_i32[i32_0 - 4] + (uint)shared_i32[i32_0]);
    } else {
        shared_i32[i32_1] = shared_i32[i32_0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i32_0 >= 8) {
        shared_i32[i32_0] = (int)((uint)shared_i32[i32_0 + 16] + (uint)shared_i32[i32_1]);
    } else {
        shared_i32[i32_0] = shared_i32[i32_1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i32_0 >= 16) {
        shared_i32[i32_1] = (int)((uint)shared_i32[i32_0 - 16] + (uint)shared_i32[i32_0]);
    } else {
        shared_i32[i32_1] = shared_i32[i32_0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    i32_1 = i32_0 == 0 ? 0 : shared_i32[max(i32_0, 1) + 23];
    before[u32_4] = i32_1;
    shared_bool[i32_0] = i32_2 > 45;
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less = i32_0 < 8;
    if (is_less) {
        shared_bool[i32_0] = shared_bool[i32_0] || shared_bool[i32_0 + 16];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less) {
        shared_bool[i32_0] = shared_bool[i32_0] || shared_bool[i32_0 + 8];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less_1 = i32_0 < 4;
    if (is_less_1) {
        shared_bool[i32_0] = shared_bool[i32_0] || shared_bool[i32_0 + 4];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less_2 = i32_0 < 2;
    if (is_less_2) {
        shared_bool[i32_0] = shared_bool[i32_0] || shared_bool[i32_0 + 2];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less_3 = i32_0 < 1;
    if (is_less_3) {
        shared_bool[i32_0] = shared_bool[i32_0] || shared_bool[i32_0 + 1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    bool_5 = shared_bool[0];
    if (bool_5) {
        barrier(CLK_LOCAL_MEM_FENCE);
        shared_i32[i32_0] = i32_2;
        barrier(CLK_LOCAL_MEM_FENCE);
        i32_1 = shared_i32[3];
        barrier(CLK_LOCAL_MEM_FENCE);
        shared_bool[i32_0] = i32_2 > (int)((uint)i32_1 - 100);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less) {
            shared_bool[i32_0] = shared_bool[i32_0] && shared_bool[i32_0 + 16];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less) {
            shared_bool[i32_0] = shared_bool[i32_0] && shared_bool[i32_0 + 8];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_1) {
            shared_bool[i32_0] = shared_bool[i32_0] && shared_bool[i32_0 + 4];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_2) {
            shared_bool[i32_0] = shared_bool[i32_0] && shared_bool[i32_0 + 2];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_3) {
            shared_bool[i32_0] = shared_bool[i32_0] && shared_bool[i32_0 + 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        bool_5 = shared_bool[0];
        signs[u32_4] = bool_5 ? (int)((i32_1 > 0) - (i32_1 < 0)) : 7;
    }
    shared_i64[i32_0] = (long)i32_2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less) {
        shared_i64[i32_0] = (long)((ulong)shared_i64[i32_0] + (ulong)shared_i64[i32_0 + 16]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less) {
        shared_i64[i32_0] = (long)((ulong)shared_i64[i32_0] + (ulong)shared_i64[i32_0 + 8]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less_1) {
        shared_i64[i32_0] = (long)((ulong)shared_i64[i32_0] + (ulong)shared_i64[i32_0 + 4]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less_2) {
        shared_i64[i32_0] = (long)((ulong)shared_i64[i32_0] + (ulong)shared_i64[i32_0 + 2]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less_3) {
        shared_i64[i32_0] = (long)((ulong)shared_i64[i32_0] + (ulong)shared_i64[i32_0 + 1]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long total = shared_i64[0];
    if (u32_3 == 0) {
        sums[group] = total;
    }
}
