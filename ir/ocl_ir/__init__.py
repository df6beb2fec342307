"""The languages of the library and what gives them meaning. Needs only NumPy, never OpenCL.

What all of them share:

    errors.py            the root of the error tree
    subgroups.py         what a target has of sub-groups
    bfloat16.py          the dtype that NumPy lacks, and its bits
    tf32.py              float32 with fewer bits, as instructions take it
    types.py             scalar, vector and pointer types
    numpy_functions.py   what operations mean where NumPy has no function for them
    complex_functions.py the same of complex numbers
    random_functions.py  words of Philox, normal numbers from words, and candidates for gamma numbers
    random_counts.py     Poisson and binomial numbers from words
    program_ops.py       operations that programs define
    op_rows.py           what is said of an operation
    op_spellings.py      how operations of one kind are spelt
    ops.py               the table of operations
    op_types.py          the types of what they give
    sizes.py             integers that a call binds, and formulas of them
    formulas.py          many of them as one table
    guards.py            sizes with an example, and what code found out about them
    reals.py             floats with an example, and what code found out about them
    late.py              objects of which most is read once somebody asks for it
    source_line.py       which line of Python asked for something
    indices.py           what a basic index picks of an array
    layout.py            shapes, strides and offsets of arrays

The languages:

    graph/               array expressions
    kernel/              kernel IR
    language/            functions in Python, as kernel IR
    passes/              what makes kernels better
    host/                host programs
    interpret/           what kernels and host programs mean
"""
