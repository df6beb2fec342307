/* lane by lane, and reading operands to the end */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void floor_division_of_vectors(__global const int *x_buffer,
                                        const ulong x_offset,
                                        __global const int *d_buffer,
                                        const ulong d_offset,
                                        __global int *y_buffer,
                                        const ulong y_offset)
{
    __global const int *x = AT(x_buffer, x_offset);
    __global const int *d = AT(d_buffer, d_offset);
    __global int *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    const uint product = i * 4;
    const int4 x_value = vload4(0, x + product);
    const int4 d_value = vload4(0, d + product);
    int4 quotient;
    if (d_value.s0 == 0) {
        quotient.s0 = 0;
    } else if (d_value.s0 == -1) {
        quotient.s0 = (int)(0 - (uint)x_value.s0);  /* the least integer wraps to itself */
    } else {
        quotient.s0 = x_value.s0 / d_value.s0;
        if (x_value.s0 % d_value.s0 != 0 && (x_value.s0 < 0) != (d_value.s0 < 0))
            quotient.s0 -= 1;
    }
    if (d_value.s1 == 0) {
        quotient.s1 = 0;
    } else if (d_value.s1 == -1) {
        quotient.s1 = (int)(0 - (uint)x_value.s1);  /* the least integer wraps to itself */
    } else {
        quotient.s1 = x_value.s1 / d_value.s1;
        if (x_value.s1 % d_value.s1 != 0 && (x_value.s1 < 0) != (d_value.s1 < 0))
            quotient.s1 -= 1;
    }
    if (d_value.s2 == 0) {
        quotient.s2 = 0;
    } else if (d_value.s2 == -1) {
        quotient.s2 = (int)(0 - (uint)x_value.s2);  /* the least integer wraps to itself */
    } else {
        quotient.s2 = x_value.s2 / d_value.s2;
        if (x_value.s2 % d_value.s2 != 0 && (x_value.s2 < 0) != (d_value.s2 < 0))
            quotient.s2 -= 1;
    }
    if (d_value.s3 == 0) {
        quotient.s3 = 0;
    } else if (d_value.s3 == -1) {
        quotient.s3 = (int)(0 - (uint)x_value.s3);  /* the least integer wraps to itself */
    } else {
        quotient.s3 = x_value.s3 / d_value.s3;
        if (x_value.s3 % d_value.s3 != 0 && (x_value.s3 < 0) != (d_value.s3 < 0))
            quotient.s3 -= 1;
    }
    int4 remainder_;
    if (d_value.s0 == 0 || d_value.s0 == -1) {
        remainder_.s0 = 0;
    } else {
        remainder_.s0 = x_value.s0 % d_value.s0;
        if (remainder_.s0 != 0 && (remainder_.s0 < 0) != (d_value.s0 < 0))
            remainder_.s0 += d_value.s0;
    }
    if (d_value.s1 == 0 || d_value.s1 == -1) {
        remainder_.s1 = 0;
    } else {
        remainder_.s1 = x_value.s1 % d_value.s1;
        if (remainder_.s1 != 0 && (remainder_.s1 < 0) != (d_value.s1 < 0))
            remainder_.s1 += d_value.s1;
    }
    if (d_value.s2 == 0 || d_value.s2 == -1) {
        remainder_.s2 = 0;
    } else {
        remainder_.s2 = x_value.s2 % d_value.s2;
        if (remainder_.s2 != 0 && (remainder_.s2 < 0) != (d_value.s2 < 0))
            remainder_.s2 += d_value.s2;
    }
    if (d_value.s3 == 0 || d_value.s3 == -1) {
        remainder_.s3 = 0;
    } else {
        remainder_.s3 = x_value.s3 % d_value.s3;
        if (remainder_.s3 != 0 && (remainder_.s3 < 0) != (d_value.s3 < 0))
            remainder_.s3 += d_value.s3;
    }
    vstore4(as_int4(as_uint4(quotient) + as_uint4(remainder_)), 0, y + product);
}
