/* y = a*a + s0    f16, 1-D, 8 elements a work-item */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

/* The bits of the halves nearest to x, ties to even. */
static inline ushort8 half_bits_8(const float8 x)
{
    ushort8 bits;
    vstore_half8_rte(x, 0, (half *)&bits);
    return bits;
}

/* The values of halves, from their bits. */
static inline float8 half_values_8(const ushort8 bits)
{
    return vload_half8(0, (const half *)&bits);
}

/* The float16 value nearest to x, ties to even, as a float: exactly what storing x as a half and loading it gives. */
static inline float round_to_half(const float x)
{
    const uint sign = as_uint(x) & 0x80000000u;
    const float a = fabs(x);
    /* A half has 13 fraction bits less; the odd bit is added so that ties go to even. 65520 and more round to 65536. */
    const uint bits = as_uint(a);
    const float rounded = as_float((bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u);
    const float normal = rounded < 65536.0f ? rounded : INFINITY;
    /* Subnormal halves are the multiples of 2^-24, which is the ULP of 0.5: the addition rounds. */
    const float subnormal = a + 0.5f - 0.5f;
    const float magnitude = a < 0x1p-14f ? subnormal : normal;
    return isnan(x) ? x : as_float(as_uint(magnitude) | sign);
}

/* The float16 value nearest to x, ties to even, as a float: exactly what storing x as a half and loading it gives. */
static inline float8 round_to_half_8(const float8 x)
{
    const uint8 sign = as_uint8(x) & 0x80000000u;
    const float8 a = fabs(x);
    /* A half has 13 fraction bits less; the odd bit is added so that ties go to even. 65520 and more round to 65536. */
    const uint8 bits = as_uint8(a);
    const float8 rounded = as_float8((bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u);
    const float8 normal = rounded < 65536.0f ? rounded : (float8)(INFINITY);
    /* Subnormal halves are the multiples of 2^-24, which is the ULP of 0.5: the addition rounds. */
    const float8 subnormal = a + 0.5f - 0.5f;
    const float8 magnitude = a < 0x1p-14f ? subnormal : normal;
    return isnan(x) ? x : as_float8(as_uint8(magnitude) | sign);
}

__kernel void mul_add(const uint n,
                      __global const half *restrict a_buffer,
                      const ulong a_offset,
                      const float s0,
                      __global half *restrict y_buffer,
                      const ulong y_offset)
{
    __global const half *a = AT(a_buffer, a_offset);
    __global half *y = AT(y_buffer, y_offset);
    const uint i = get_global_id(0);
    const uint base = i * 8;
    if (base + 7 < n) {
        const float8 a_i = half_values_8(LOAD(ushort8, a + base));
        STORE(ushort8, y + base, half_bits_8(round_to_half_8(a_i * a_i) + s0));
    } else {
        for (uint j = base; j < n; ++j) {
            const float a_i_1 = vload_half(j, a);
            vstore_half_rte(round_to_half(a_i_1 * a_i_1) + s0, j, y);
        }
    }
}
