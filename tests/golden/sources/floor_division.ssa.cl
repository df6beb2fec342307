/* operations of several statements */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void floor_division(__global const int *x_buffer,
                             const ulong x_offset,
                             __global const int *y_buffer,
                             const ulong y_offset,
                             __global int *q_buffer,
                             const ulong q_offset,
                             __global int *r_buffer,
                             const ulong r_offset,
                             __global const float *f_buffer,
                             const ulong f_offset,
                             __global const float *g_buffer,
                             const ulong g_offset,
                             __global float *h_buffer,
                             const ulong h_offset)
{
    __global const int *x = AT(x_buffer, x_offset);
    __global const int *y = AT(y_buffer, y_offset);
    __global int *q = AT(q_buffer, q_offset);
    __global int *r = AT(r_buffer, r_offset);
    __global const float *f = AT(f_buffer, f_offset);
    __global const float *g = AT(g_buffer, g_offset);
    __global float *h = AT(h_buffer, h_offset);
    const uint i = get_global_id(0);
    const int x_value = x[i];
    const int y_value = y[i];
    int quotient;
    if (y_value == 0) {
        quotient = 0;
    } else if (y_value == -1) {
        quotient = (int)(0 - (uint)x_value);  /* the least integer wraps to itself */
    } else {
        quotient = x_value / y_value;
        if (x_value % y_value != 0 && (x_value < 0) != (y_value < 0))
            quotient -= 1;
    }
    q[i] = quotient;
    int remainder_;
    if (y_value == 0 || y_value == -1) {
        remainder_ = 0;
    } else {
        remainder_ = x_value % y_value;
        if (remainder_ != 0 && (remainder_ < 0) != (y_value < 0))
            remainder_ += y_value;
    }
    r[i] = remainder_;
    const float f_value = f[i];
    const float g_value = g[i];
    float quotient_1;
    {
        const float rem = fmod(f_value, g_value);
        /* a - rem is a multiple of b but for rounding. The remainder of a floor has the divisor's sign. */
        float div = (f_value - rem) / g_value;
        if (rem != 0 && (rem < 0) != (g_value < 0))
            div -= 1;
        if (g_value == 0)
            quotient_1 = f_value / g_value;
        else if (div == 0)
            quotient_1 = copysign((float)0, f_value / g_value);
        else
            quotient_1 = div - floor(div) > 0.5f ? floor(div) + 1 : floor(div);
    }
    float remainder__1;
    remainder__1 = fmod(f_value, g_value);
    if (g_value != 0) {
        if (remainder__1 == 0)
            remainder__1 = copysign((float)0, g_value);
        else if ((remainder__1 < 0) != (g_value < 0))
            remainder__1 += g_value;
    }
    h[i] = quotient_1 - remainder__1;
}
