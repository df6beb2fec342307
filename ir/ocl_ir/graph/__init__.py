"""Array expressions.

nodes.py      their grammar
interned.py   objects that are made once
readers.py    which parts of something were looked at
build.py      the way to make them
printer.py    their text
forward.py    nodes that are in memory by now
substitute.py other nodes in place of some
"""
