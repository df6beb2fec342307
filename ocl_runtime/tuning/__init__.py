"""Measures variants of algorithms, and remembers which was the fastest.

contest.py    which of some candidates is the fastest
reference.py  whether a product of matrices is right
trial.py      variants of a product as candidates, on forks of the handles
records.py    what was measured, on disk
choices.py    what planning is handed of that
collect.py    which products expressions compute
products.py   the contest of one product
report.py     what was found out, as a table
bar.py        how far it is
"""
