"""Kernel IR, in the order in which kernels go through these.

values.py                what statements work with
matrix_instruction.py    what small matrices are, and who holds which elements
matrix_instructions.py   the instructions that there are, by name
matrix_words.py          how their operands are read from words of local memory
box_words.py             the same of operands that boxes have copied
cooperative.py           statements to which work-items come together
asynchronous.py          statements whose work goes on while work-items do
grammar.py               the grammar
ids.py                   ids that a kernel does not use yet
alignment.py             whether an access may be one wide instruction
source_kernel.py         a kernel written in OpenCL C
operands.py              operands with Python's operators
literals.py              Python numbers as literals of a type
blocks.py                the statements of a kernel that is being built
collectives.py           in which order a group joins its values
function.py              functions of numbers, written where they are applied
formats.py               the text that a kernel prints
asynchronous_builder.py  the way to make what goes on while work-items do
builder.py               the way to make a kernel
names.py                 one name for each value, in every stage
printer.py               its text
fault.py                 how a check names statement, neighbourhood and remedy
intervals.py             the least and the most that an integer value can be
by_identity.py           what is known of a kernel, remembered
accesses.py              which pointers a statement or kernel reads and writes
uniformity.py            which values are the same for every work-item of a group
verify_scopes.py         values are bound once, and used where they are seen
verify_types.py          operands have the types that operations take
verify_flow.py           loops, branches and barriers
verify_asynchronous.py   copies, products and boxes
verify_memory.py         what is loaded and stored, and as what
verify.py                all of these checks
inline.py                what is written as part of a larger expression
liveness.py              where values live
locals.py                how they become declarations
work.py                  how many operations it does, about
"""
