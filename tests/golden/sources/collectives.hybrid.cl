/* a maximum and sums up to each item, row by row */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(24, 1, 1)))
void collectives(__global const float *x_buffer,
                 const ulong x_offset,
                 __global float *most_buffer,
                 const ulong most_offset,
                 __global float *total_buffer,
                 const ulong total_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *most = AT(most_buffer, most_offset);
    __global float *total = AT(total_buffer, total_offset);
    const int item = get_local_id(0);
    const int upper = item + 24;
    __local float shared_f32[48];
    const uint i = get_global_id(0);
    const uint group = get_group_id(0);
    const bool is_less = item < 8;
    const bool is_less_1 = item < 4;
    const bool is_less_2 = item < 2;
    const bool is_less_3 = item < 1;
    const bool is_at_least = item >= 1;
    const bool is_at_least_1 = item >= 2;
    const bool is_at_least_2 = item >= 4;
    const bool is_at_least_3 = item >= 8;
    const bool is_at_least_4 = item >= 16;
    const uint item_1 = get_local_id(0);
    const bool is_equal = item_1 == 0;
    for (uint row = 0; row < 3; ++row) {
        const uint sum = row * 48 + i;
        const float value = x[sum];
        barrier(CLK_LOCAL_MEM_FENCE);
        shared_f32[item] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less) {
            const float shared_f32_value = shared_f32[item];
            const float shared_f32_value_1 = shared_f32[item + 16];
            shared_f32[item] = shared_f32_value > shared_f32_value_1 || isnan(shared_f32_value) ? shared_f32_value : shared_f32_value_1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less) {
            const float shared_f32_value_2 = shared_f32[item];
            const float shared_f32_value_3 = shared_f32[item + 8];
            shared_f32[item] = shared_f32_value_2 > shared_f32_value_3 || isnan(shared_f32_value_2) ? shared_f32_value_2 : shared_f32_value_3;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_1) {
            const float shared_f32_value_4 = shared_f32[item];
            const float shared_f32_value_5 = shared_f32[item + 4];
            shared_f32[item] = shared_f32_value_4 > shared_f32_value_5 || isnan(shared_f32_value_4) ? shared_f32_value_4 : shared_f32_value_5;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_2) {
            const float shared_f32_value_6 = shared_f32[item];
            const float shared_f32_value_7 = shared_f32[item + 2];
            shared_f32[item] = shared_f32_value_6 > shared_f32_value_7 || isnan(shared_f32_value_6) ? shared_f32_value_6 : shared_f32_value_7;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_less_3) {
            const float shared_f32_value_8 = shared_f32[item];
            const float shared_f32_value_9 = shared_f32[item + 1];
            shared_f32[item] = shared_f32_value_8 > shared_f32_value_9 || isnan(shared_f32_value_8) ? shared_f32_value_8 : shared_f32_value_9;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const float largest = shared_f32[0];
        barrier(CLK_LOCAL_MEM_FENCE);
        shared_f32[item] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_at_least) {
            shared_f32[upper] = shared_f32[item - 1] + shared_f32[item];
        } else {
            shared_f32[upper] = shared_f32[item];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_at_least_1) {
            shared_f32[item] = shared_f32[item + 22] + shared_f32[upper];
        } else {
            shared_f32[item] = shared_f32[upper];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_at_least_2) {
            shared_f32[upper] = shared_f32[item - 4] + shared_f32[item];
        } else {
            shared_f32[upper] = shared_f32[item];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_at_least_3) {
            shared_f32[item] = shared_f32[item + 16] + shared_f32[upper];
        } else {
            shared_f32[item] = shared_f32[upper];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_at_least_4) {
            shared_f32[upper] = shared_f32[item - 16] + shared_f32[item];
        } else {
            shared_f32[upper] = shared_f32[item];
        }
        const float group_scan = shared_f32[upper];
        total[sum] = group_scan;
        if (is_equal) {
            most[row * 2 + group] = largest;
        }
    }
}
