/* a sum of each sub-group, and what its items exchange */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

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
    __global const float *x = x_buffer + x_offset;
    __global const uchar *flags = flags_buffer + flags_offset;
    __global float *total = total_buffer + total_offset;
    __global double *wide = wide_buffer + wide_offset;
    __global uchar *crossed = crossed_buffer + crossed_offset;
    const uint item = get_local_id(0);
    const uint upper = item + 64;
    const uint first = item & 4294967264u;
    const uint upper_first = first + 64;
    __local float exchanged_f32[128];
    __local double exchanged_f64[128];
    __local uchar exchanged_bool[128];
    __local uchar exchanged_u8[128];
    const uint i = get_global_id(0);
    const uint lane = item & 31;
    const float value = x[i];
    exchanged_f32[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float shuffled = exchanged_f32[first + (lane ^ 16)];
    const float sum_1 = value + shuffled;
    exchanged_f32[upper] = sum_1;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float shuffled_1 = exchanged_f32[upper_first + (lane ^ 8)];
    const float sum_3 = sum_1 + shuffled_1;
    exchanged_f32[item] = sum_3;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float shuffled_2 = exchanged_f32[first + (lane ^ 4)];
    const float sum_5 = sum_3 + shuffled_2;
    exchanged_f32[upper] = sum_5;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float shuffled_3 = exchanged_f32[upper_first + (lane ^ 2)];
    const float sum_7 = sum_5 + shuffled_3;
    exchanged_f32[item] = sum_7;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float shuffled_4 = exchanged_f32[first + (lane ^ 1)];
    exchanged_f32[upper] = sum_7 + shuffled_4;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float shuffled_5 = exchanged_f32[upper_first];
    total[i] = shuffled_5;
    const double converted = (double)value;
    for (uint by = 1; by < 3; ++by) {
        const double wide_value = wide[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        exchanged_f64[item] = converted;
        barrier(CLK_LOCAL_MEM_FENCE);
        const double shuffled_6 = exchanged_f64[first + ((lane + by) & 31)];
        wide[i] = wide_value + shuffled_6;
    }
    const bool flags_value = flags[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    exchanged_bool[item] = flags_value;
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool shuffled_7 = exchanged_bool[first + (lane ^ 5)];
    exchanged_u8[item] = (uchar)lane;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uchar shuffled_8 = exchanged_u8[first + 3];
    crossed[i] = (uchar)((uchar)shuffled_7 + shuffled_8);
}
