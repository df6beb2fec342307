"""From expressions to kernel IR; the translator grows from room to room:

reports.py      what checked mode reports
conversions.py  numbers as other types
arithmetic.py   operations on numbers
views.py        parts of arrays
violations.py   accesses that are tested
memory.py       elements of arrays
joins.py        where versions of a name meet
choices.py      `and`, `or`, conditional expressions
conditions.py   comparisons, and what an expression is as a condition
f_strings.py    f-strings, which are printed
expressions.py  expressions
"""
