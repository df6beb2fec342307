"""Plans that are made once for all expressions that are alike:

slots.py        memory that is only numbered
unplanned.py    an expression over such memory, as the planner gets it
template.py     a plan as a host program
evaluation.py   the same over memory, sizes and scalars
comparison.py   whether an expression is one that is known, written out as Python
written.py      an evaluation that comes again and again, written out as Python
pickled.py      plans and kernels as bytes
stored.py       plans of earlier processes, on disk
known_lines.py  what is written, by the Python line that evaluates
routines.py     what the library itself evaluates again and again, by how its operands lie
plans.py        all plans, by structure
"""
