"""Teams: the work-items that have a result of a reduction together, and how they join what each of them has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType, Vector, element, lanes

_LAST = 16
"""Work-items whose totals each of a team joins by itself."""

Totals: TypeAlias = Mapping[int, Ref]
"""What folds have joined so far, by their places among the values."""


class Team:
    """The team of the work-item that runs a kernel; its group has `count` of them. They lie one behind the other in the
    group, or `beside` each other, so that neighbours have neighbouring results.

    `number` is that of the team's result, or of the vector of results that it has; `member` that of the work-item in
    its team.
    """

    def __init__(self, k: KernelBuilder, size: int, count: int, index: DType, *, beside: bool) -> None:
        self._k, self._size, self._count, self._index = k, size, count, index
        self._zero = k.const(0, index)
        self._apart = count if beside else 1
        """How far two of a team lie from each other in the group."""
        self.member = self._first = self._zero
        if size == 1:
            self.number = k.global_id(0, "o", index)
            return
        self.number = k.item("group_id", 0, "o" if count == 1 else "group", index)
        self._local = self.member = k.item("local_id", 0, "l", index)
        if count == 1:
            return
        if beside:
            self._first = team = k.op("urem", self._local, count, hint="column")
            self.member = k.op("udiv", self._local, count, hint="member")
        else:
            self.member = k.op("urem", self._local, size, hint="member")
            team = k.op("udiv", self._local, size, hint="team")
            self._first = k.let(team * size, "first")
        self.number = k.let(self.number * count + team, "o")

    def joined(self, totals: Totals, join: Callable[[int, Ref, Ref], Ref]) -> dict[int, Ref]:
        """The totals of the whole team, which every work-item of it gets. The first few join their own with those that
        follow in steps, then each work-item joins those of the first few."""
        if self._size == 1 or not totals:
            return dict(totals)
        k = self._k
        shared = {fold: self._array(total) for fold, total in totals.items()}
        for fold, total in totals.items():
            self._keep(shared[fold], total)
        k.barrier()
        last = min(self._size, _LAST)
        if self._size > last:
            with k.if_(self.member < last):
                for fold, total in totals.items():
                    with k.for_(self.member + last, self._size, last, dtype=self._index, hint="other") as other:
                        k.assign(total, join(fold, total, self._kept(shared[fold], total, other)))
                    self._keep(shared[fold], total)
            k.barrier()
        for fold, total in totals.items():
            k.assign(total, self._kept(shared[fold], total, self._zero))
            with k.for_(1, last, dtype=self._index, hint="other", unroll=last) as other:
                k.assign(total, join(fold, total, self._kept(shared[fold], total, other)))
        return dict(totals)

    def _array(self, total: Ref) -> Ref:
        """Local memory for a total of each work-item of the group."""
        assert isinstance(total.type, DType | Vector)
        type_, count = element(total.type), lanes(total.type)
        return self._k.array(type_, self._size * self._count * count, align=type_.size * count, hint="shared")

    def _keep(self, array: Ref, total: Ref) -> None:
        assert isinstance(total.type, DType | Vector)
        count = lanes(total.type)
        self._k.store(array, self._local * count, total, align=element(total.type).size * count)

    def _kept(self, array: Ref, total: Ref, member: Ref) -> Ref:
        """What one of the team has kept, which is like a total."""
        assert isinstance(total.type, DType | Vector)
        count = lanes(total.type)
        place = (self._first + member * self._apart) * count
        return self._k.load(array, place, count=count, align=element(total.type).size * count, hint="kept")
