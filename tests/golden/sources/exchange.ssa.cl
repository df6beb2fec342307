/* a sum of each sub-group, and what its items exchange */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void exchange(__global const float *x_buffer,
              const ulong x_offset,
              __global const uchar *flags_buffer,
              const ulong flags_offset,
              __global float *total_buffer,
              const ulong total_offset,
              __global double *wide_buffer,
              const ulong wide_offset,
              __global uchar *crossed_buffer,
              const ulong crossed_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global const uchar *flags = AT(flags_buffer, flags_offset);
    __global float *total = AT(total_buffer, total_offset);
    __global double *wide = AT(wide_buffer, wide_offset);
    __global uchar *crossed = AT(crossed_buffer, crossed_offset);
    const int item = get_local_id(0);
    const int first = item & -32;
    __local double exchanged_f64[128];
    __local uchar exchanged_bool[128];
    __local uchar exchanged_u8[128];
    const int lane = item & 31;
    __local float shared_f32[64];
    const uint i = get_global_id(0);
    const uint item_1 = get_local_id(0);
    const uint lane_1 = item_1 & 31;
    const float value = x[i];
    shared_f32[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 16) {
        shared_f32[item] = shared_f32[item] + shared_f32[item + 16];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 8) {
        shared_f32[item] = shared_f32[item] + shared_f32[item + 8];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 4) {
        shared_f32[item] = shared_f32[item] + shared_f32[item + 4];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 2) {
        shared_f32[item] = shared_f32[item] + shared_f32[item + 2];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 1) {
        shared_f32[item] = shared_f32[item] + shared_f32[item + 1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float subgroup_sum = shared_f32[first];
    total[i] = subgroup_sum;
    const double converted = (double)value;
    for (uint by = 1; by < 3; ++by) {
        const double wide_value = wide[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        exchanged_f64[item] = converted;
        barrier(CLK_LOCAL_MEM_FENCE);
        const double shuffled = exchanged_f64[first + (int)((lane_1 + by) & 31)];
        wide[i] = wide_value + shuffled;
    }
    const bool flags_value = flags[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    exchanged_bool[item] = flags_value;
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool shuffled_1 = exchanged_bool[first + (int)(lane_1 ^ 5)];
    exchanged_u8[item] = (uchar)lane_1;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uchar shuffled_2 = exchanged_u8[first + 3];
    crossed[i] = (uchar)((uchar)shuffled_1 + shuffled_2);
}
