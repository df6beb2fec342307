"""The kernel language: Python functions become kernel IR. Never asks a device.

What translating is made of:

    errors.py      errors with file, line, caret and remedy
    values/        what expressions have for values, what names and builtins are, and which types meet
    syntax/        syntax trees of functions, and what is seen of them first
    plain/         what builtins are in plain Python, and kernels that run there
    context.py     the builder, the options, the parameters
    expressions/   expressions
    statements/    statements, and calls of helpers
    parameters.py  the types of arguments
    builtins/      what `ocl_runtime.language` hands to users
    functions.py   functions of elements, for maps and reductions
    proofs/        what is provably wrong, and which memory barriers order
    translate.py   from a function to kernel IR
    library.py     kernels of the library that are functions in Python

The translator is one class, which grows from room to room: `Context`, `Conversions`, `Arithmetic`, …, `Calls`, `Tiles`.
"""
