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
    const uint i = get_global_id(0);
    const uint base = i * 4;
    if (base + 3 < n) {
        STORE(float4, y + base, LOAD(float4, a + base) * LOAD(float4, b + base) + sin(LOAD(float4, c + base)));
    } else {
        for (uint at = base; at < n; ++at) {
            y[at] = a[at] * b[at] + sin(c[at]);
        }
    }
}
