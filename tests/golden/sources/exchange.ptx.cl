/* a sum of each sub-group, and what its items exchange */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* The value that the work-item at a lane has, of a whole warp that comes here. */
static inline bool warp_shuffle_bool(const bool value, const uint lane)
{
    uint word;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(word) : "r"((uint)value), "r"(lane));
    return word != 0;
}

/* The value that the work-item at a lane has, of a whole warp that comes here. */
static inline float warp_shuffle_float(const float value, const uint lane)
{
    uint word;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(word) : "r"(as_uint(value)), "r"(lane));
    return as_float(word);
}

/* The value that the work-item at a lane has, of a whole warp that comes here. */
static inline double warp_shuffle_double(const double value, const uint lane)
{
    const ulong bits = as_ulong(value);
    uint low;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(low) : "r"((uint)bits), "r"(lane));
    uint high;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(high) : "r"((uint)(bits >> 32)), "r"(lane));
    return as_double((ulong)high << 32 | low);
}

/* The value that the work-item at a lane has, of a whole warp that comes here. */
static inline uchar warp_shuffle_uchar(const uchar value, const uint lane)
{
    uint word;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(word) : "r"((uint)as_uchar(value)), "r"(lane));
    return as_uchar((uchar)word);
}

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
    const int lane = item & 31;
    const uint i = get_global_id(0);
    const uint item_1 = get_local_id(0);
    const uint lane_1 = item_1 & 31;
    const float value = x[i];
    const float shuffled = warp_shuffle_float(value, lane ^ 16);
    const float sum = value + shuffled;
    const float shuffled_1 = warp_shuffle_float(sum, lane ^ 8);
    const float sum_1 = sum + shuffled_1;
    const float shuffled_2 = warp_shuffle_float(sum_1, lane ^ 4);
    const float sum_2 = sum_1 + shuffled_2;
    const float shuffled_3 = warp_shuffle_float(sum_2, lane ^ 2);
    const float sum_3 = sum_2 + shuffled_3;
    const float shuffled_4 = warp_shuffle_float(sum_3, lane ^ 1);
    const float subgroup_sum = warp_shuffle_float(sum_3 + shuffled_4, 0);
    total[i] = subgroup_sum;
    const double converted = (double)value;
    for (uint by = 1; by < 3; ++by) {
        const double shuffled_5 = warp_shuffle_double(converted, (lane_1 + by) & 31);
        wide[i] = wide[i] + shuffled_5;
    }
    const bool shuffled_6 = warp_shuffle_bool(flags[i], lane_1 ^ 5);
    const uchar shuffled_7 = warp_shuffle_uchar((uchar)lane_1, 3u);
    crossed[i] = (uchar)((uchar)shuffled_6 + shuffled_7);
}
