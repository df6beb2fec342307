"""Command-line tools; the scripts in tools/ call them.

expression.py an expression and dtypes, as typed on the command line, to arrays
dump.py       ocl-dump
"""
