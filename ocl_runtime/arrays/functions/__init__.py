"""The functions that users call, by what they are about.

elementwise.py      elementwise functions
manipulation.py     views
joining.py          arrays put together, repeated and padded
taking.py           elements at computed places
creation.py         arrays from data and from nothing
statistics.py       reductions
searching.py        where elements are
sorting.py          elements in order
selecting.py        the greatest or least elements
sets.py             distinct elements, and membership
counting.py         how often integers come
histograms.py       how many numbers lie between edges
linear_algebra.py   products of matrices and vectors
attention.py        attention and its gradients
attention_blocks.py the same of products and a softmax, in blocks of queries
convolutions.py     convolutions with channels, and pooling
scans.py            running sums
explaining.py       what computing would do
transfers.py        values to and from the host without waiting
interop.py          arrays of other libraries
inspection.py       what there is, by the standard
"""
