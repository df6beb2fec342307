/* sums += left @ right    2 products of 16 x 4 by 4 x 16, in 64 work-items each */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* A 16 x 4 matrix times a 4 x 16 one is added to sums. */
static inline double4 mfma_f64(const double a, const double b, const double4 sums)
{
    return __builtin_amdgcn_mfma_f64_16x16x4f64((a), (b), sums, 0, 0, 0);
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void check_mfma_f64(__global const double *left_buffer,
                    const ulong left_offset,
                    __global const double *right_buffer,
                    const ulong right_offset,
                    __global double *sums_buffer,
                    const ulong sums_offset)
{
    __global const double *left = AT(left_buffer, left_offset);
    __global const double *right = AT(right_buffer, right_offset);
    __global double *sums = AT(sums_buffer, sums_offset);
    const uint item = get_local_id(0);
    const uint product = item * 4;
    const double4 sums_1 = mfma_f64(left[item], right[item], vload4(0, sums + product));
    vstore4(sums_1, 0, sums + product);
}
