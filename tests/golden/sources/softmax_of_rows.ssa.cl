/* y = exp(a - max(a))/sum(exp(a - max(a)))    f32, in f32, by rows */
#pragma OPENCL FP_CONTRACT OFF

#define AT(buffer, offset) ((__global void *)((__global char *)(buffer) + (offset)))
#define LOAD(type, p) (*(__global const type *)(p))
#define STORE(type, p, value) (*(__global type *)(p) = (value))

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void softmax_of_rows(const uint n0,
                     const uint m,
                     __global const float *restrict a_buffer,
                     const ulong a_offset,
                     const uint a_stride0,
                     __global float *restrict y_buffer,
                     const ulong y_offset,
                     const uint y_stride0)
{
    __global const float *a = AT(a_buffer, a_offset);
    __global float *y = AT(y_buffer, y_offset);
    const uint group = get_group_id(0);
    const uint l = get_local_id(0);
    const uint member = l % 8;
    const uint team = l / 8;
    const uint first = team * 8;
    const uint o = group * 4 + team;
    const bool inside = o < n0;
    const uint last = n0 - 1;
    const uint row = min(o, last);
    const uint vectors = m / 4;
    const uint v = member + 8;
    const bool there = v < vectors;
    const uint last_1 = vectors - 1;
    const uint v_1 = min(v, last_1);
    const uint a_row = row * a_stride0;
    const float4 a_i = LOAD(float4, a + (a_row + member) * 4);
    const float4 a_i_1 = LOAD(float4, a + (a_row + v_1) * 4);
    float4 acc = (float4)(-INFINITY);
    acc = select(a_i, acc, (acc > a_i) | isnan(acc));
    if (there) {
        acc = select(a_i_1, acc, (acc > a_i_1) | isnan(acc));
    }
    const float2 low_half = acc.lo;
    const float2 high_half = acc.hi;
    const float2 larger_2 = select(high_half, low_half, (low_half > high_half) | isnan(low_half));
    const float low_half_1 = larger_2.lo;
    const float high_half_1 = larger_2.hi;
    float total = low_half_1 > high_half_1 || isnan(low_half_1) ? low_half_1 : high_half_1;
    __local float shared[32];
    shared[l] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float kept = shared[first];
    total = kept;
    #pragma unroll 8
    for (uint other = 1; other < 8; ++other) {
        const float kept_1 = shared[first + other];
        total = total > kept_1 || isnan(total) ? total : kept_1;
    }
    const float4 exp_value = exp(a_i - total);
    const float4 exp_value_1 = exp(a_i_1 - total);
    float4 acc_1 = (float4)(0.0f);
    acc_1 = acc_1 + exp_value;
    if (there) {
        acc_1 = acc_1 + exp_value_1;
    }
    const float2 sum_3 = acc_1.lo + acc_1.hi;
    float total_1 = sum_3.lo + sum_3.hi;
    __local float shared_1[32];
    shared_1[l] = total_1;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float kept_2 = shared_1[first];
    total_1 = kept_2;
    #pragma unroll 8
    for (uint other_1 = 1; other_1 < 8; ++other_1) {
        const float kept_3 = shared_1[first + other_1];
        total_1 = total_1 + kept_3;
    }
    const float4 quotient = exp_value / total_1;
    const float4 quotient_1 = exp_value_1 / total_1;
    if (inside) {
        const uint y_row = row * y_stride0;
        STORE(float4, y + (y_row + member) * 4, quotient);
        if (there) {
            STORE(float4, y + (y_row + v_1) * 4, quotient_1);
        }
    }
}
