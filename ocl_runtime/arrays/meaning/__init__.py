"""What functions and indices mean in nodes of the graph; nothing here knows an array.

dtypes.py             dtypes, promotion, limits
table.py              the elementwise functions, one row each
semantics.py          what they mean
basic_index.py        what basic indices pick, remembered
broadcasting.py       two operands given one shape
precision.py          how exactly products of float32 are multiplied
products.py           what products of matrices mean
taps.py               how windows lie
convolutions.py       what convolutions mean
phases.py             those of few channels that move by more than 1, as ones that move by 1
line_convolutions.py  the same of windows that are lines in memory
winograd.py           the same with fewer multiplications
writing.py            what writes mean
indexing.py           what index arrays mean
adding.py             what adding at their places means
reproducible_sums.py  sums of floats in any order with the same bits
masks.py              what masks mean
"""
