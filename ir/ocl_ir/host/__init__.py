"""Host programs.

grammar.py       their grammar
printer.py       their text
fault.py         how a check names statement, neighbourhood and remedy
aliases.py       chains of views, and whether a view fits its memory
verify_views.py  the same where numbers are known before a call
written.py       which bytes of a buffer have been computed
schedule.py      a program with its sizes bound
arena.py         where scratch memory lies that is used in program order
unbound.py       a schedule of formulas, to be filled in for any sizes
verify.py        what every program must fulfil, whatever its sizes
builder.py       the way to make them
conflicts.py     which commands touch the same bytes
verify_order.py  the proof that those are ordered
"""
