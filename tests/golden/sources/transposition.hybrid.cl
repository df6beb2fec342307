/* through a tile in local memory */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void transposition(const uint rows,
                   const uint columns,
                   __global const float *restrict x_buffer,
                   const ulong x_offset,
                   __global float *restrict y_buffer,
                   const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint lx = get_local_id(0);
    const uint ly = get_local_id(1);
    __local float tile[72];
    const uint group = get_group_id(0);
    const uint product = group * 8;
    const uint group_1 = get_group_id(1);
    const uint product_1 = group_1 * 8;
    const uint sum_1 = product_1 + ly;
    if (product + lx < columns && sum_1 < rows) {
        tile[ly * 9 + lx] = x[sum_1 * columns + product + lx];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint sum_6 = product + ly;
    if (product_1 + lx < rows && sum_6 < columns) {
        y[sum_6 * rows + product_1 + lx] = tile[lx * 9 + ly];
    }
}
