/* by 64-bit atomics on the bits */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))

/* Adds to an element in one step, tried until nobody came between. Gives what was there before. */
static inline double atomic_add_global_double(volatile __global double *element, const double value)
{
    volatile __global ulong *bits = (volatile __global ulong *)element;
    ulong expected, held = 0;
    do {
        expected = held;
        const double before = as_double(expected);
        held = atom_cmpxchg(bits, expected, as_ulong(before + value));
    } while (held != expected);
    return as_double(held);
}

/* Leaves the smaller of an element and a value, or NaN, in one step. Gives what was there before. */
static inline double atomic_min_global_double(volatile __global double *element, const double value)
{
    volatile __global ulong *bits = (volatile __global ulong *)element;
    ulong expected, held = 0;
    do {
        expected = held;
        const double before = as_double(expected);
        held = atom_cmpxchg(bits, expected, as_ulong(before < value || isnan(before) ? before : value));
    } while (held != expected);
    return as_double(held);
}

__kernel void double_atomics(__global const double *x_buffer,
                             const ulong x_offset,
                             __global volatile double *found_buffer,
                             const ulong found_offset)
{
    __global const double *x = AT(x_buffer, x_offset);
    __global volatile double *found = AT(found_buffer, found_offset);
    const uint i = get_global_id(0);
    atomic_add_global_double(found, x[i]);
    atomic_min_global_double(found + 1, x[i]);
    if (i == 3) {
        const double was = as_double(atom_xchg((volatile __global ulong *)(found + 2), as_ulong(8.0)));
        atomic_add_global_double(found, was);
        const double was_1 = as_double(atom_cmpxchg((volatile __global ulong *)(found + 3), as_ulong(2.0), as_ulong(3.0)));
        atomic_add_global_double(found, was_1);
    }
}
