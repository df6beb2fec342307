/* sums and extremes, a group's own in local memory */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* Leaves the larger of an element and a value, or NaN, in one step. Gives what was there before. */
static inline float atomic_max_global_float(volatile __global float *element, const float value)
{
    volatile __global uint *bits = (volatile __global uint *)element;
    uint expected, held = 0;
    do {
        expected = held;
        const float before = as_float(expected);
        held = atomic_cmpxchg(bits, expected, as_uint(before > value || isnan(before) ? before : value));
    } while (held != expected);
    return as_float(held);
}

/* Leaves the smaller of an element and a value, or NaN, in one step. Gives what was there before. */
static inline float atomic_min_global_float(volatile __global float *element, const float value)
{
    volatile __global uint *bits = (volatile __global uint *)element;
    uint expected, held = 0;
    do {
        expected = held;
        const float before = as_float(expected);
        held = atomic_cmpxchg(bits, expected, as_uint(before < value || isnan(before) ? before : value));
    } while (held != expected);
    return as_float(held);
}

/* Subtracts from an element in one step, tried until nobody came between. Gives what was there before. */
static inline float atomic_sub_global_float(volatile __global float *element, const float value)
{
    volatile __global uint *bits = (volatile __global uint *)element;
    uint expected, held = 0;
    do {
        expected = held;
        const float before = as_float(expected);
        held = atomic_cmpxchg(bits, expected, as_uint(before - value));
    } while (held != expected);
    return as_float(held);
}

/* Adds to an element in one step. */
static inline void reduction_add_global_float(volatile __global float *element, const float value)
{
    asm volatile("red.global.add.f32 [%0], %1;" :: "l"(element), "f"(value) : "memory");
}

/* Adds to an element in one step. */
static inline void reduction_add_local_float(volatile __local float *element, const float value)
{
    asm volatile("red.shared.add.f32 [%0], %1;" :: "r"((uint)(size_t)element), "f"(value) : "memory");
}

__kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void float_atomics(__global const float *x_buffer,
                   const ulong x_offset,
                   __global volatile float *found_buffer,
                   const ulong found_offset,
                   __global float *before_buffer,
                   const ulong before_offset)
{
    __global const float *x = AT(x_buffer, x_offset);
    __global volatile float *found = AT(found_buffer, found_offset);
    __global float *before = AT(before_buffer, before_offset);
    const uint i = get_global_id(0);
    const uint item = get_local_id(0);
    __local float mine[1];
    const float value = x[i];
    const bool is_equal = item == 0;
    if (is_equal) {
        mine[0] = -0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    reduction_add_local_float(mine, value);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_equal) {
        reduction_add_global_float(found, mine[0]);
    }
    atomic_sub_global_float(found + 1, value);
    atomic_min_global_float(found + 2, value);
    atomic_max_global_float(found + 3, value);
    if (i == 0) {
        const float was = atomic_xchg(found + 4, 8.0f);
        before[0] = was;
        const float was_1 = as_float(atomic_cmpxchg((volatile __global uint *)(found + 5), as_uint(2.0f), as_uint(3.0f)));
        before[1] = was_1;
    }
}
