"""Kernel IR to OpenCL C to built programs, in order:

spelling.py     OpenCL C spellings of types and literals, and what compilers want otherwise
precedence.py   texts with C's precedence, and what spellings of operations ask of their operands
accesses.py     elements of memory and values of other work-items as OpenCL C expressions
expressions.py  operations as OpenCL C expressions
statements.py   a kernel as a tree of C statements, every text decided
templates.py    the only module that touches Mako
helpers.py      helper functions: their types, and which come first
source.py       a kernel as OpenCL C source, with the way back from each line
combine.py      the sources of several kernels as one program
compile.py      kernel IR to source, with every stage kept
declarations.py declarations of the functions that a source calls, for compilers that read all of them
driver.py       source or binary to a program
opened.py       instructions that the compiler passes on as comments, opened in the binary
binaries.py     the binary of a program, asked for while other threads run
disk.py         built programs on disk
cache.py        built programs, remembered in memory and on disk
matrix_check.py which matrix instructions a device was seen to multiply by, remembered on disk
matrix_trial.py the trial of them, in a process of its own
"""
