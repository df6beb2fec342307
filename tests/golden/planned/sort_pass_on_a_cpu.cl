/* i32, 1 work-item a tile */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_by_digit(const uint m,
                   const uint s,
                   const uint per,
                   const uint shift,
                   __global const uint *restrict a_buffer,
                   const ulong a_offset,
                   __global const uint *restrict counts_buffer,
                   const ulong counts_offset,
                   __global uint *restrict y_buffer,
                   const ulong y_offset)
{
    __global const uint *a = AT(a_buffer, a_offset);
    __global const uint *counts = AT(counts_buffer, counts_offset);
    __global uint *y = AT(y_buffer, y_offset);
    const int group = get_group_id(0);
    const uint converted = (uint)group;
    uint quotient;
    quotient = s != 0 ? converted / s : 0;
    uint tile;
    tile = s != 0 ? converted % s : 0;
    uint ends[256];
    const bool differs = tile != 0;
    for (int digit = 0; digit < 256; ++digit) {
        uint before = 0u;
        if (digit != 0 || differs) {
            const uint difference = (quotient * 256 + (uint)digit) * s + tile - 1;
            const uint before_1 = counts[difference];
            before = before_1;
        }
        const uint return_1 = before;
        ends[digit] = return_1;
    }
    const uint product_2 = tile * per;
    const uint sum_2 = product_2 + per;
    const uint product_3 = quotient * m;
    for (uint r = product_2; r < min(sum_2, m); ++r) {
        const uint a_i = a[r];
        const uint digit_1 = (shift < 32 ? (a_i ^ 2147483648u) >> shift : 0) & 255;
        const int converted_2 = (int)digit_1;
        y[product_3 + ends[converted_2]] = a_i;
        ends[converted_2] = ends[converted_2] + 1;
    }
}
