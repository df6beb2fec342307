/* f32, 128 work-items a row, 8 elements each */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void sort_rows(const uint n0,
               const uint rows,
               const uint m,
               __global const float *restrict a_buffer,
               const ulong a_offset,
               const uint a_stride0,
               __global uint *restrict y_buffer,
               const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global uint *y = AT(y_buffer, y_offset);
    int i32_0;
    int i32_1;
    __local uint staged[2048];
    const int item = get_local_id(0);
    const int lane = item % 128;
    const int team = item / 128;
    const int group = get_group_id(0);
    const int row = group * 2 + team;
    const uint count = (long)row < (long)rows ? m : 0;
    const int first = team * 1024;
    const long converted_2 = (long)count;
    #pragma unroll 8
    for (int step_1 = 0; step_1 < 8; ++step_1) {
        const int r = step_1 * 128 + lane;
        uint v = 4294967295u;
        if ((long)r < converted_2) {
            const float a_i = a[(uint)row * a_stride0 + (uint)r];
            v = as_uint(a_i);
        }
        staged[first + r] = v;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint own[8];
    const int sum_1 = first + lane * 8;
    #pragma unroll 8
    for (int step_2 = 0; step_2 < 8; ++step_2) {
        own[step_2] = staged[sum_1 + step_2];
    }
    #pragma unroll 8
    for (int turn = 0; turn < 8; ++turn) {
        #pragma unroll 4
        for (int step_3 = turn & 1; step_3 < 7; step_3 += 2) {
            const int sum_3 = step_3 + 1;
            const uint own_value = own[sum_3];
            const uint and_value_1 = own_value & 2147483647;
            const uint own_value_1 = own[step_3];
            const uint and_value_2 = own_value_1 & 2147483647;
            const uint chosen_3 = and_value_2 > 2139095040 ? 4294967295u : (and_value_2 == 0 ? 2147483648u : own_value_1 ^ (-(own_value_1 >> 31) | (uint)1 << 31));
            if ((and_value_1 > 2139095040 ? 4294967295u : (and_value_1 == 0 ? 2147483648u : own_value ^ (-(own_value >> 31) | (uint)1 << 31))) < chosen_3) {
                const uint lower = own[sum_3];
                own[sum_3] = own[step_3];
                own[step_3] = lower;
            }
        }
    }
    int width = 8;
    const int product_3 = lane * 8;
    const int sum_4 = first + product_3;
    for (int _ = 0; _ < 7; ++_) {
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll 8
        for (int step_4 = 0; step_4 < 8; ++step_4) {
            staged[sum_4 + step_4] = own[step_4];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int kept_1 = width;
        const int distance_1 = product_3 & (2 * kept_1 - 1);
        const int left_run = sum_4 - distance_1;
        const int right_run = left_run + kept_1;
        const int low = distance_1 > kept_1 ? (int)((uint)distance_1 - (uint)kept_1) : 0;
        const int high = min(distance_1, kept_1);
        i32_0 = low;
        i32_1 = high;
        const int difference_2 = distance_1 - 1;
        while (i32_0 < i32_1) {
            const int middle = (i32_0 + i32_1) >> 1;
            const uint staged_value_1 = staged[right_run + (difference_2 - middle)];
            const uint and_value_3 = staged_value_1 & 2147483647;
            const uint staged_value_2 = staged[left_run + middle];
            const uint and_value_4 = staged_value_2 & 2147483647;
            const uint chosen_7 = and_value_4 > 2139095040 ? 4294967295u : (and_value_4 == 0 ? 2147483648u : staged_value_2 ^ (-(staged_value_2 >> 31) | (uint)1 << 31));
            if ((and_value_3 > 2139095040 ? 4294967295u : (and_value_3 == 0 ? 2147483648u : staged_value_1 ^ (-(staged_value_1 >> 31) | (uint)1 << 31))) < chosen_7) {
                i32_1 = middle;
            } else {
                const int low_2 = middle + 1;
                i32_0 = low_2;
            }
        }
        const int left = i32_0;
        const int right = distance_1 - i32_0;
        i32_0 = left;
        i32_1 = right;
        const int difference_4 = kept_1 - 1;
        #pragma unroll 8
        for (int step_5 = 0; step_5 < 8; ++step_5) {
            const int at_left = left_run + min(i32_0, difference_4);
            const int at_right = right_run + min(i32_1, difference_4);
            const bool is_equal_4 = i32_0 == kept_1;
            bool v_1 = is_equal_4;
            if (!is_equal_4) {
                const bool is_less_5 = i32_1 < kept_1;
                bool v_2 = is_less_5;
                if (is_less_5) {
                    const uint staged_value_3 = staged[at_right];
                    const uint and_value_5 = staged_value_3 & 2147483647;
                    const uint staged_value_4 = staged[at_left];
                    const uint and_value_6 = staged_value_4 & 2147483647;
                    const uint chosen_11 = and_value_6 > 2139095040 ? 4294967295u : (and_value_6 == 0 ? 2147483648u : staged_value_4 ^ (-(staged_value_4 >> 31) | (uint)1 << 31));
                    v_2 = (and_value_5 > 2139095040 ? 4294967295u : (and_value_5 == 0 ? 2147483648u : staged_value_3 ^ (-(staged_value_3 >> 31) | (uint)1 << 31))) < chosen_11;
                }
                v_1 = v_2;
            }
            int at = at_left;
            if (v_1) {
                const int right_2 = i32_1 + 1;
                i32_1 = right_2;
                at = at_right;
            } else {
                const int left_2 = i32_0 + 1;
                i32_0 = left_2;
            }
            own[step_5] = staged[at];
        }
        const int width_1 = width * 2;
        width = width_1;
    }
    const int sum_9 = first + lane * 8;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 8
    for (int step_6 = 0; step_6 < 8; ++step_6) {
        staged[sum_9 + step_6] = own[step_6];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long converted_6 = (long)count;
    #pragma unroll 8
    for (int step_7 = 0; step_7 < 8; ++step_7) {
        const int r_1 = step_7 * 128 + lane;
        if ((long)r_1 < converted_6) {
            y[(uint)row * m + (uint)r_1] = staged[first + r_1];
        }
    }
}
