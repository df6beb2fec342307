"""What makes a kernel better before code is generated. Each pass is a function from kernel to kernel.

`PIPELINE` names them in the order in which they run, `for_target` those for a target that can do more than every device
can; `run` verifies after each, and its `watch` sees every stage.

    collectives.py  what a group makes of its values goes through local memory and barriers
    shuffles.py     what a sub-group exchanges stays where the target can, and goes through local memory elsewhere
    vectorize.py    loops over independent elements become vector code with wide loads and stores
    fold.py         operations on constants, and identities (x*1, (x + 1) + 2), become their results
    cse.py          a value that was computed before is not computed again
    hoist.py        what does not change in a loop is computed before it
    division.py     divisions of what is never negative become plain ones, if they are not by zero
    coalesce.py     a variable that only stands for another one for a while is that one
    dce.py          what nobody reads is not computed
    rewrite.py      the walk over a kernel that the passes share
    writing.py      the same for passes that write code for a whole group
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.verify import verify
from ocl_ir.passes.coalesce import coalesce
from ocl_ir.passes.collectives import collectives
from ocl_ir.passes.cse import cse
from ocl_ir.passes.dce import dce
from ocl_ir.passes.division import division
from ocl_ir.passes.fold import fold
from ocl_ir.passes.hoist import hoist
from ocl_ir.passes.shuffles import shuffles
from ocl_ir.passes.vectorize import vectorize
from ocl_ir.subgroups import Subgroups

Pass = Callable[[Kernel], Kernel]


def for_target(subgroups: Subgroups | None) -> tuple[tuple[str, Pass], ...]:
    """The passes for a target that has these sub-groups, or none."""
    return (
        ("collectives", partial(collectives, subgroups=subgroups)),
        ("shuffles", partial(shuffles, subgroups=subgroups)),
        ("vectorize", vectorize),
        ("fold", fold),
        ("cse", cse),
        ("hoist", hoist),
        ("division", division),
        ("coalesce", coalesce),
        ("dce", dce),
    )


PIPELINE = for_target(None)


def run(
    kernel: Kernel,
    watch: Callable[[str, Kernel], None] = lambda name, kernel: None,
    pipeline: tuple[tuple[str, Pass], ...] = PIPELINE,
) -> Kernel:
    """The kernel after all passes; `watch` gets the name and the outcome of each, and "built" first.

    Raises `VerifyError` if the kernel is not well formed, or a pass made it so.
    """
    verify(kernel)
    watch("built", kernel)
    for name, change in pipeline:
        after = change(kernel)
        if after is not kernel:
            verify(after)
        kernel = after
        watch(name, kernel)
    return kernel
