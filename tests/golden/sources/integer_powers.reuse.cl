/* a helper function */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* x to the power y modulo 2^32, by squaring (Knuth, The Art of Computer Programming, volume 2, 4.6.3). A negative
   exponent gives 1/x, truncated toward zero. */
static inline int integer_power_int(const int x, const int y)
{
    /* Unsigned, because a product that overflows wraps there. */
    uint product = 1;
    uint square = as_uint(x);
    uint left = y < 0 ? 0 : as_uint(y);
    while (left != 0) {
        product = (left & 1) != 0 ? product * square : product;
        square = square * square;
        left = left >> 1;
    }
    /* 1/x is x for 1 and -1, of which -1 stays for odd powers; it is 0 for all others. */
    const int inverse = x == 1 || x == -1 ? ((y & 1) != 0 ? x : 1) : 0;
    return y < 0 ? inverse : (int)product;
}

__kernel void integer_powers(__global const int *x_buffer,
                             const ulong x_offset,
                             __global const int *e_buffer,
                             const ulong e_offset,
                             __global int *y_buffer,
                             const ulong y_offset)
{
    __global const int *x = AT(x_buffer, x_offset);
    __global const int *e = AT(e_buffer, e_offset);
    __global int *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    y[i] = integer_power_int(x[i], e[i]);
}
