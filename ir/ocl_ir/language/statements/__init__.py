"""From statements to kernel IR, and calls of helpers, whose statements come here:

assignments.py      statements without blocks
branches.py         `if`, and where versions of names meet
loop_statements.py  loops
statements.py       all statements
calls.py            calls of helpers and builtins
"""
