/* sums += left @ right    2 products of 16 x 16 by 16 x 8, in 32 work-items each */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* A 16 x 16 matrix times a 16 x 8 one is added to sums. */
static inline double4 mma_f64(const double8 a, const double4 b, const double4 sums)
{
    double s0 = sums.s0, s1 = sums.s1, s2 = sums.s2, s3 = sums.s3;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                 : "+d"(s0), "+d"(s1), "+d"(s2), "+d"(s3)
                 : "d"(a.s0), "d"(a.s1), "d"(a.s2), "d"(a.s3), "d"(a.s4), "d"(a.s5), "d"(a.s6), "d"(a.s7),
                   "d"(b.s0), "d"(b.s1), "d"(b.s2), "d"(b.s3));
    return (double4)(s0, s1, s2, s3);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void check_mma_f64(__global const double *left_buffer,
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
    const uint product_1 = item * 4;
    const double4 sums_1 = mma_f64(vload8(0, left + item * 8), vload4(0, right + product_1), vload4(0, sums + product_1));
    vstore4(sums_1, 0, sums + product_1);
}
