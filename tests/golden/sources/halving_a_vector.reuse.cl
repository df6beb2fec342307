/* the sum of 16 lanes as a tree */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))

__kernel void halving_a_vector(__global const float *x_buffer,
                               const ulong x_offset,
                               __global float *y_buffer,
                               const ulong y_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    const float16 x_value = LOAD(float16, x + i * 16);
    const float8 eight = x_value.lo + x_value.hi;
    const float4 four = eight.lo + eight.hi;
    const float2 two = four.lo + four.hi;
    y[i] = two.s0 + two.s1;
}
