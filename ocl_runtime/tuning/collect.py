"""Which problems of algorithms the plan of some nodes has: it is made once more, and thrown away."""

from __future__ import annotations

from collections.abc import Sequence

from ocl_ir.graph.build import Buffer, Node
from ocl_ir.kernel.grammar import Kernel
from ocl_runtime.plan.cache.slots import Slots
from ocl_runtime.plan.cache.template import Template
from ocl_runtime.plan.cache.unplanned import Unplanned
from ocl_runtime.plan.donation import DonationIndices
from ocl_runtime.plan.executor import Executor
from ocl_runtime.plan.kernels.lowering import PRODUCTS
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.kernels.products.variant import Problem, plain
from ocl_runtime.plan.structure import Structure

_NOTHING = DonationIndices((), ())


class Collector:
    """Listens to what planning asks for, and says that nothing was measured."""

    generation = 0

    def __init__(self) -> None:
        self.products: dict[Problem, Contraction] = {}
        """The products, one for each problem, with the integers that their sizes are."""

    def records(self, algorithm: str) -> Sequence[tuple[str, str]]:
        """None, so that plans are as without tuning."""
        return ()

    def asked(self, algorithm: str, problem: object) -> None:
        """A plan needs this of an algorithm."""
        if algorithm == PRODUCTS and isinstance(problem, Contraction):
            product = plain(problem)
            self.products.setdefault(Problem.of(product), product)

    def used(self, algorithm: str, problem: str, kernels: Sequence[Kernel]) -> None:
        """Never, since there are no records."""

    def failed(self, kernels: Sequence[Kernel], error: Exception) -> bool:
        """Never because of a record."""
        return False

    def digest(self) -> str:
        """That of nothing."""
        return ""


def products_of(nodes: Sequence[Node], executor: Executor) -> list[Contraction]:
    """The different products of matrices that computing some nodes would launch. Raises what planning raises."""
    collector = Collector()
    with executor.registry.lock:
        wanted = _computed(nodes)
        unplanned = Unplanned(Structure(wanted), _NOTHING) if wanted else None
        del wanted
    if unplanned is not None:
        Template(unplanned, Slots(executor.target, executor.kernels, choices=collector))
    return list(collector.products.values())


def _computed(nodes: Sequence[Node]) -> list[Node]:
    """The different ones that are not in memory."""
    return [node for node in dict.fromkeys(nodes) if not isinstance(node, Buffer)]
