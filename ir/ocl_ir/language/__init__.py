"""The kernel language: Python functions become kernel IR. Never asks a device.

What translating is made of:

    errors.py            errors with file, line, caret and remedy
    source.py            the syntax tree of a function
    values.py            what expressions have for values
    promotion.py         which type numbers meet in
    host_numbers.py      what the host computes with Python floats of a call
    loops.py             what range, unrolled and hint give
    swizzles.py          names of components of vectors
    scopes.py            names and their versions
    captures.py          names of Python's own scopes
    liveness.py          names that are read behind a branch or a loop
    returns.py           helpers with one result
    context.py           the builder, the options, the parameters
    reports.py           what checked mode reports
    conversions.py       numbers as other types
    arithmetic.py        operations on numbers
    views.py             parts of arrays
    violations.py        accesses that are tested
    memory.py            elements of arrays
    joins.py             where versions of a name meet
    choices.py           `and`, `or`, conditional expressions
    conditions.py        comparisons, and what an expression is as a condition
    f_strings.py         f-strings, which are printed
    expressions.py       expressions
    products.py          `acc += a @ b`
    assignments.py       statements without blocks
    branches.py          `if`, and where versions of names meet
    loop_statements.py   loops
    statements.py        all statements
    table.py             what a builtin is
    python_functions.py  Python's own functions as builtins
    plain/               what builtins are in plain Python, and kernels that run there
    calls.py             calls of helpers and builtins
    mathematics.py       builtins of numbers
    tuples.py            Python's functions of tuples
    work_items.py        builtins of the index space, memory and loops
    printing.py          what work-items print
    grids.py             how a group shares a tile
    tiles.py             small arrays of a whole group
    tile_builtins.py     builtins of tiles
    groups.py            builtins of a whole group
    subgroups.py         builtins of neighbouring work-items
    builtins.py          all builtins
    functions.py         functions of elements, for maps and reductions
    fences.py            which memory barriers order
    local_memory.py      what is provably wrong with local memory
    parameters.py        the types of arguments
    divergence.py        barriers that only a part of a group comes to
    translate.py         from a function to kernel IR
    library.py           kernels of the library that are functions in Python
"""
