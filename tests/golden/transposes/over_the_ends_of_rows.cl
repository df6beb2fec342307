/* y = a*s0    f32, 2-D, 1 element a work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

__kernel void mul(const uint n0,
                  const uint n1,
                  __global const float *restrict a_buffer,
                  const ulong a_offset,
                  const uint a_stride0,
                  const float s0,
                  __global float *restrict y_buffer,
                  const ulong y_offset,
                  const uint y_stride0)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i1 = get_global_id(0);
    const uint i0 = get_global_id(1);
    if (i1 < n1 && i0 < n0) {
        const float a_i = a[i0 * a_stride0 + i1];
        y[i0 * y_stride0 + i1] = a_i * s0;
    }
}
