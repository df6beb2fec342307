"""The road from kernel IR to source, with every stage kept for whoever wants to look."""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.kernel.verify import verify
from ocl_ir.passes import Pass, for_target, run
from ocl_runtime.codegen.source import Source, generate, written_by_hand
from ocl_runtime.codegen.spelling import Dialect


@dataclass(frozen=True)
class Compilation:
    """A kernel as it was built, after each pass, and its source; `stages` are (name, kernel) in order."""

    stages: tuple[tuple[str, Kernel], ...]
    source: Source

    @property
    def kernel(self) -> Kernel:
        """The kernel that the source was generated from."""
        return self.source.locals.kernel


def compile_kernel(
    kernel: Kernel, strategy: str, dialect: Dialect, pipeline: tuple[tuple[str, Pass], ...] | None = None
) -> Compilation:
    """Verifies the kernel, runs the passes, by default those for the target, and generates source.

    Raises `VerifyError` or another `IRError`.
    """
    if isinstance(kernel, SourceKernel):
        verify(kernel)
        return Compilation((), written_by_hand(kernel, strategy))
    stages: list[tuple[str, Kernel]] = []
    passes = for_target(dialect.subgroups) if pipeline is None else pipeline
    after = run(kernel, lambda name, stage: stages.append((name, stage)), passes)
    return Compilation(tuple(stages), generate(after, strategy, dialect))
