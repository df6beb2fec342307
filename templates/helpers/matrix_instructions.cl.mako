## Matrix instructions, each by the name of the instruction in ocl_ir.kernel.matrix_instructions, which says which
## work-item holds what.
##
## ---------------------------------------------------------------------- NVIDIA: PTX
##
<%def name="mma(name, shape, number, registers, constraint, letter, left=4, right=2)">\
<%
    lefts = ", ".join(f"%{4 + i}" for i in range(left))
    rights = ", ".join(f"%{4 + left + i}" for i in range(right))
    of_a = ", ".join(f'"{constraint}"(a.s{i})' for i in range(left))
    of_b = ", ".join(f'"{constraint}"(b.s{i})' for i in range(right))
%>\
static inline ${number}4 ${name}(const ${registers}${left} a, const ${registers}${right} b, const ${number}4 sums)
{
    ${number} s0 = sums.s0, s1 = sums.s1, s2 = sums.s2, s3 = sums.s3;
    asm volatile("mma.sync.aligned.${shape} {%0, %1, %2, %3}, {${lefts}}, {${rights}}, {%0, %1, %2, %3};"
                 : "+${letter}"(s0), "+${letter}"(s1), "+${letter}"(s2), "+${letter}"(s3)
                 : ${of_a},
                   ${of_b});
    return (${number}4)(s0, s1, s2, s3);
}
</%def>
##
<%def name="mma_f16(t)">\
/* A 16 x 16 matrix of halves times a 16 x 8 one is added to sums. */
${mma("mma_f16", "m16n8k16.row.col.f32.f16.f16.f32", "float", "uint", "r", "f")}\
</%def>
##
<%def name="mma_bf16(t)">\
/* A 16 x 16 matrix of bfloat16 times a 16 x 8 one is added to sums. */
${mma("mma_bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", "float", "uint", "r", "f")}\
</%def>
##
<%def name="mma_tf32(t)">\
/* A 16 x 8 matrix of tf32 times an 8 x 8 one is added to sums. */
${mma("mma_tf32", "m16n8k8.row.col.f32.tf32.tf32.f32", "float", "uint", "r", "f")}\
</%def>
##
<%def name="mma_f64(t)">\
/* A 16 x 16 matrix times a 16 x 8 one is added to sums. */
${mma("mma_f64", "m16n8k16.row.col.f64.f64.f64.f64", "double", "double", "d", "d", 8, 4)}\
</%def>
##
## ---------------------------------------------------------------------- AMD: clang's builtins
##
<%def name="amd(name, builtin, operand, sums, view='', modifiers='')">\
static inline ${sums} ${name}(const ${operand} a, const ${operand} b, const ${sums} sums)
{
    return __builtin_amdgcn_${builtin}(${view}(a), ${view}(b), sums${modifiers});
}
</%def>
##
<%def name="mfma_f16(t)">\
/* A 16 x 16 matrix of halves times another one is added to sums. */
${amd("mfma_f16", "mfma_f32_16x16x16f16", "uint2", "float4", "as_half4", ", 0, 0, 0")}\
</%def>
##
<%def name="mfma_bf16(t)">\
/* A 16 x 16 matrix of bfloat16 times another one is added to sums. */
${amd("mfma_bf16", "mfma_f32_16x16x16bf16_1k", "uint2", "float4", "as_short4", ", 0, 0, 0")}\
</%def>
##
<%def name="mfma_f32(t)">\
/* A 16 x 4 matrix times a 4 x 16 one is added to sums. */
${amd("mfma_f32", "mfma_f32_16x16x4f32", "float", "float4", "", ", 0, 0, 0")}\
</%def>
##
<%def name="mfma_f64(t)">\
/* A 16 x 4 matrix times a 4 x 16 one is added to sums. */
${amd("mfma_f64", "mfma_f64_16x16x4f64", "double", "double4", "", ", 0, 0, 0")}\
</%def>
##
<%def name="wmma_f16(t)">\
/* A 16 x 16 matrix of halves times another one is added to sums. */
${amd("wmma_f16", "wmma_f32_16x16x16_f16_w32", "uint8", "float8", "as_half16")}\
</%def>
##
<%def name="wmma_bf16(t)">\
/* A 16 x 16 matrix of bfloat16 times another one is added to sums. */
${amd("wmma_bf16", "wmma_f32_16x16x16_bf16_w32", "uint8", "float8", "as_short16")}\
</%def>
##
<%def name="wmma_gfx12_f16(t)">\
/* A 16 x 16 matrix of halves times another one is added to sums. */
${amd("wmma_gfx12_f16", "wmma_f32_16x16x16_f16_w32_gfx12", "uint4", "float8", "as_half8")}\
</%def>
##
<%def name="wmma_gfx12_bf16(t)">\
/* A 16 x 16 matrix of bfloat16 times another one is added to sums. */
${amd("wmma_gfx12_bf16", "wmma_f32_16x16x16_bf16_w32_gfx12", "uint4", "float8", "as_short8")}\
</%def>
##
## ---------------------------------------------------------------------- Intel: cl_intel_subgroup_matrix_multiply_accumulate
##
<%def name="xmx(name, dtype, operand, view)">\
static inline float8 ${name}(const ${operand} a, const uint8 b, const float8 sums)
{
    return intel_sub_group_${dtype}_${dtype}_matrix_mad_k16(${view}(a), as_int8(b), sums);
}
</%def>
##
<%def name="xmx8_f16(t)">\
/* An 8 x 16 matrix of halves times a 16 x 8 one is added to sums. */
${xmx("xmx8_f16", "f16", "uint8", "as_int8")}\
</%def>
##
<%def name="xmx8_bf16(t)">\
/* An 8 x 16 matrix of bfloat16 times a 16 x 8 one is added to sums. */
${xmx("xmx8_bf16", "bf16", "uint8", "as_int8")}\
</%def>
##
<%def name="xmx16_f16(t)">\
/* An 8 x 16 matrix of halves times a 16 x 16 one is added to sums. */
${xmx("xmx16_f16", "f16", "ushort8", "as_short8")}\
</%def>
##
<%def name="xmx16_bf16(t)">\
/* An 8 x 16 matrix of bfloat16 times a 16 x 16 one is added to sums. */
${xmx("xmx16_bf16", "bf16", "ushort8", "as_short8")}\
</%def>
