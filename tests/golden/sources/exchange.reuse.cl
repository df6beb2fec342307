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
    float f32_0;
    float f32_1;
    bool bool_2;
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
    f32_0 = exchanged_f32[first + (lane ^ 16)];
    f32_0 = value + f32_0;
    exchanged_f32[upper] = f32_0;
    barrier(CLK_LOCAL_MEM_FENCE);
    f32_1 = exchanged_f32[upper_first + (lane ^ 8)];
    f32_0 = f32_0 + f32_1;
    exchanged_f32[item] = f32_0;
    barrier(CLK_LOCAL_MEM_FENCE);
    f32_1 = exchanged_f32[first + (lane ^ 4)];
    f32_0 = f32_0 + f32_1;
    exchanged_f32[upper] = f32_0;
    barrier(CLK_LOCAL_MEM_FENCE);
    f32_1 = exchanged_f32[upper_first + (lane ^ 2)];
    f32_0 = f32_0 + f32_1;
    exchanged_f32[item] = f32_0;
    barrier(CLK_LOCAL_MEM_FENCE);
    f32_1 = exchanged_f32[first + (lane ^ 1)];
    exchanged_f32[upper] = f32_0 + f32_1;
    barrier(CLK_LOCAL_MEM_FENCE);
    f32_0 = exchanged_f32[upper_first];
    total[i] = f32_0;
    const double converted = (double)value;
    for (uint by = 1; by < 3; ++by) {
        const double wide_value = wide[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        exchanged_f64[item] = converted;
        barrier(CLK_LOCAL_MEM_FENCE);
        const double shuffled_6 = exchanged_f64[first + ((lane + by) & 31)];
        wide[i] = wide_value + shuffled_6;
    }
    bool_2 = flags[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    exchanged_bool[item] = bool_2;
    barrier(CLK_LOCAL_MEM_FENCE);
    bool_2 = exchanged_bool[first + (lane ^ 5)];
    exchanged_u8[item] = (uchar)lane;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uchar shuffled_8 = exchanged_u8[first + 3];
    crossed[i] = (uchar)((uchar)bool_2 + shuffled_8);
}
