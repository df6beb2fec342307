"""Plans that are made once for all expressions that are alike:

slots.py       memory that is only numbered
template.py    a plan as a host program
evaluation.py  the same over memory, sizes and scalars
plans.py       all of them, by structure
"""
