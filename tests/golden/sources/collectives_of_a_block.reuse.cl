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
    uint u32_0;
    uint u32_1;
    uint u32_2;
    int i32_3;
    bool bool_4;
    u32_0 = get_local_id(0);
    u32_1 = get_local_id(1);
    u32_2 = get_local_id(2);
    u32_0 = u32_0 + u32_1 * 4 + u32_2 * 12;
    u32_1 = u32_0 + 24;
    __local int shared_i32[48];
    __local uchar shared_bool[24];
    __local long shared_i64[24];
    u32_2 = get_group_id(1);
    const uint sum_1 = u32_2 * 24 + u32_0;
    const int value = x[sum_1];
    shared_i32[u32_0] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (u32_0 >= 1) {
        shared_i32[u32_1] = (int)((uint)shared_i32[u32_0 - 1] + (uint)shared_i32[u32_0]);
    } else {
        shared_i32[u32_1] = shared_i32[u32_0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (u32_0 >= 2) {
        shared_i32[u32_0] = (int)((uint)shared_i32[u32_0 + 22] + (uint)shared_i32[u32_1]);
    } else {
        shared_i32[u32_0] = shared_i32[u32_1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (u32_0 >= 4) {
        shared_i32[u32_1] = (int)((uint)shared_i32[u32_0 - 4] + (uint)shared_i32[u32_0]);
    } else {
        shared_i32[u32_1] = shared_i32[u32_0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (u32_0 >= 8) {
        shared_i32[u32_0] = (int)((uint)shared_i32[u32_0 + 16] + (uint)shared_i32[u32_1]);
    } else {
        shared_i32[u32_0] = shared_i32[u32_1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (u32_0 >= 16) {
        shared_i32[u32_1] = (int)((uint)shared_i32[u32_0 - 16] + (uint)shared_i32[u32_0]);
    } else {
        shared_i32[u32_1] = shared_i32[u32_0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_equal = u32_0 == 0;
    i32_3 = is_equal ? 0 : shared_i32[max(u32_0, 1u) + 23];
    before[sum_1] = i32_3;
    shared_bool[u32_0] = value > 45;
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less = u32_0 < 8;
    if (is_less) {
        shared_bool[u32_0] = shared_bool[u32_0] || shared_bool[u32_0 + 16];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less) {
        shared_bool[u32_0] = shared_bool[u32_0] || shared_bool[u32_0 + 8];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less_1 = u32_0 < 4;
    if (is_less_1) {
        shared_bool[u32_0] = shared_bool[u32_0] || shared_bool[u32_0 + 4];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less_2 = u32_0 < 2;
    if (is_less_2) {
        shared_bool[u32_0] = shared_bool[u32_0] || shared_bool[u32_0 + 2];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool is_less_3 = u32_0 < 1;
    if (is_less_3) {
        shared_bool[u32_0] = shared_bool[u32_0] || shared_bool[u32_0 + 1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    bool_4 = shared_bool[0];
    if (bool_4) {
        barrier(CLK_LOCAL_MEM_FENCE);
        shared_i32[u32_0] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        i32_3 = shared_i32[3];
        barrier(CLK_LOCAL_MEM_FENCE);
        shared_bool[u32_0] = value > (int)((uint)i32_3 - 100);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less) {
            shared_bool[u32_0] = shared_bool[u32_0] && shared_bool[u32_0 + 16];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less) {
            shared_bool[u32_0] = shared_bool[u32_0] && shared_bool[u32_0 + 8];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_1) {
            shared_bool[u32_0] = shared_bool[u32_0] && shared_bool[u32_0 + 4];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_2) {
            shared_bool[u32_0] = shared_bool[u32_0] && shared_bool[u32_0 + 2];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_3) {
            shared_bool[u32_0] = shared_bool[u32_0] && shared_bool[u32_0 + 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        bool_4 = shared_bool[0];
        signs[sum_1] = bool_4 ? (int)((i32_3 > 0) - (i32_3 < 0)) : 7;
    }
    shared_i64[u32_0] = (long)value;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less) {
        shared_i64[u32_0] = (long)((ulong)shared_i64[u32_0] + (ulong)shared_i64[u32_0 + 16]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less) {
        shared_i64[u32_0] = (long)((ulong)shared_i64[u32_0] + (ulong)shared_i64[u32_0 + 8]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less_1) {
        shared_i64[u32_0] = (long)((ulong)shared_i64[u32_0] + (ulong)shared_i64[u32_0 + 4]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less_2) {
        shared_i64[u32_0] = (long)((ulong)shared_i64[u32_0] + (ulong)shared_i64[u32_0 + 2]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_less_3) {
        shared_i64[u32_0] = (long)((ulong)shared_i64[u32_0] + (ulong)shared_i64[u32_0 + 1]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long total = shared_i64[0];
    if (is_equal) {
        sums[u32_2] = total;
    }
}
