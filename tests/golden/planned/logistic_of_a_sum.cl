/* y = expit_65c62b0fb823(a*s0 + s1)    f32, 1-D, 16 elements a work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

__kernel void mul_add_expit_65c62b0fb823(const uint n,
                                         __global const float *restrict a_buffer,
                                         const ulong a_offset,
                                         const float s0,
                                         const float s1,
                                         __global float *restrict y_buffer,
                                         const ulong y_offset)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    const uint base = i * 16;
    if (base + 15 < n) {
        const float16 a_i = LOAD(float16, a + base);
        const float16 sum_1 = a_i * s0 + s1;
        const float16 e = exp(-fabs(sum_1));
        const float16 return_1 = select((float16)(1.0f), e, sum_1 < 0.0f) / (1.0f + e);
        STORE(float16, y + base, return_1);
    } else {
        for (uint j = base; j < n; ++j) {
            const float a_i_1 = a[j];
            const float sum_3 = a_i_1 * s0 + s1;
            const float e_1 = exp(-fabs(sum_3));
            const float return_2 = (sum_3 < 0.0f ? e_1 : 1.0f) / (1.0f + e_1);
            y[j] = return_2;
        }
    }
}
