/* y = a*b + sin(c)    float32, contiguous, 4 elements per work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

__kernel void mul_sin_add(const uint n,
                          __global const float *restrict a_buffer,
                          const ulong a_offset,
                          __global const float *restrict b_buffer,
                          const ulong b_offset,
                          __global const float *restrict c_buffer,
                          const ulong c_offset,
                          __global float *restrict y_buffer,
                          const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global const float *b = AT(b_buffer, b_offset);
    __global const float *c = AT(c_buffer, c_offset);
    __global float *y = AT(y_buffer, y_offset);
    uint u32_0;
    u32_0 = get_global_id(0);
    u32_0 = u32_0 * 4;
    if (u32_0 + 3 < n) {
        STORE(float4, y + u32_0, LOAD(float4, a + u32_0) * LOAD(float4, b + u32_0) + sin(LOAD(float4, c + u32_0)));
    } else {
        for (uint at = u32_0; at < n; ++at) {
            y[at] = a[at] * b[at] + sin(c[at]);
        }
    }
}
