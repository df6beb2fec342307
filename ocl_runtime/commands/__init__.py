"""Command-line tools: entry points of the package, and what the scripts in tools/ call.

output.py      what is printed when the reader has gone
devices.py     ocl-devices
expression.py  an expression and dtypes, as typed on the command line, to arrays
kernel.py      a kernel of a file, for types as typed
dump.py        ocl-dump
tune.py        ocl-tune
bench/         ocl-bench
"""
