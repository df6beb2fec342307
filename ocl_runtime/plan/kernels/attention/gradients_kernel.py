"""Writes the kernels that compute the gradients of attention without storing scores.

There is one for each of queries, keys and values: a group has 128 of these, and goes along the keys, or the queries, in
blocks. Each computes scores and, from these and the logarithms that attention has stored, weights once more: that takes
less time than to add up in memory what many groups have of the same gradient, and the order of all sums is fixed.
Weights and the gradients by scores stay in registers as left operands of the products with the blocks, which go on, as
do those that begin the next block, while weights are computed.

    weights = exp(scale q kᵀ - log)                by values = weightsᵀ gradient
    by scores = weights (gradient vᵀ - delta)      by keys = scale by scoresᵀ q, by queries = scale by scores k

`delta` is the sum of gradient times result of each query; these and the logarithms come in boxes, too.

Source: Dao et al., FlashAttention, 2022, appendix B.2.
"""

from __future__ import annotations

from ocl_ir.kernel.grammar import Kernel
from ocl_runtime.plan.kernels.attention.by_keys import ByKeys
from ocl_runtime.plan.kernels.attention.by_queries import ByQueries
from ocl_runtime.plan.kernels.attention.gradients import GradientForm


def build(form: GradientForm) -> Kernel:
    """The kernel of a form."""
    return (ByQueries if form.by == "queries" else ByKeys)(form).build()
