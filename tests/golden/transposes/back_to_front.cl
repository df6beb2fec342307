/* y = a*s0    f32, 1-D, 4 elements a work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

__kernel void mul(const uint n,
                  __global const float *restrict a_buffer,
                  const ulong a_offset,
                  const uint a_first,
                  const float s0,
                  __global float *restrict y_buffer,
                  const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    const uint base = i * 4;
    if (base + 3 < n) {
        const float4 a_i = LOAD(float4, a + (a_first - i) * 4);
        const float4 a_i_1 = (float4)(a_i.s3, a_i.s2, a_i.s1, a_i.s0);
        STORE(float4, y + base, a_i_1 * s0);
    } else {
        const uint sum_1 = a_first * 4 + 3;
        for (uint j = base; j < n; ++j) {
            const float a_i_2 = a[sum_1 - j];
            y[j] = a_i_2 * s0;
        }
    }
}
