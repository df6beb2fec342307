/* y = a*b + c    c64, 1-D, 2 elements a work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

/* a * b */
static inline float2 complex_mul_float2(const float2 a, const float2 b)
{
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* a * b */
static inline float4 complex_mul_float4(const float4 a, const float4 b)
{
    float4 z;
    z.even = a.even * b.even - a.odd * b.odd;
    z.odd = a.even * b.odd + a.odd * b.even;
    return z;
}

__kernel void mul_add(const uint n,
                      __global const float2 *restrict a_buffer,
                      const ulong a_offset,
                      __global const float2 *restrict b_buffer,
                      const ulong b_offset,
                      __global const float2 *restrict c_buffer,
                      const ulong c_offset,
                      __global float2 *restrict y_buffer,
                      const ulong y_offset)
{
    __global const float2 *a = AT(a_buffer, a_offset);
    __global const float2 *b = AT(b_buffer, b_offset);
    __global const float2 *c = AT(c_buffer, c_offset);
    __global float2 *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    const uint base = i * 2;
    if (base + 1 < n) {
        const float4 a_i = LOAD(float4, a + base);
        const float4 b_i = LOAD(float4, b + base);
        const float4 c_i = LOAD(float4, c + base);
        STORE(float4, y + base, complex_mul_float4(a_i, b_i) + c_i);
    } else {
        for (uint j = base; j < n; ++j) {
            const float2 a_i_1 = a[j];
            const float2 b_i_1 = b[j];
            const float2 c_i_1 = c[j];
            y[j] = complex_mul_float2(a_i_1, b_i_1) + c_i_1;
        }
    }
}
