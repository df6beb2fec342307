/* sums what is positive, up to the first value above 15 */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void break_and_continue(const uint n,
                                 __global const int *x_buffer,
                                 const ulong x_offset,
                                 __global int *y_buffer,
                                 const ulong y_offset)
{
    __global const int *x = AT(x_buffer, x_offset);
    __global int *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    int total = 0;
    const uint product = i * n;
    for (uint j = 0; j < n; ++j) {
        const int value = x[product + j];
        if (value > 15) {
            break;
        }
        if (value < 0) {
            continue;
        }
        total = (int)((uint)total + (uint)value);
    }
    y[i] = total;
}
