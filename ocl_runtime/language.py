"""The kernel language: what functions decorated with `ocl_runtime.kernel` are written with.

    from ocl_runtime.language import global_id, local_array, barrier, float32

Work-items and groups: `global_id local_id group_id global_size local_size num_groups position barrier`.
Memory: `local_array private_array vload vstore atomic_add …`. Numbers: the names of `math` and NumPy, `fma`, `where`,
`cdiv`, `minimum`, vectors as `float4` or `float32x4`, which is the same (`uint8` is NumPy's, `uint32x8` is a vector).
Groups: `group.sum subgroup.shuffle`, tiles: `tile load_tile store_tile dot`. Loops: `unrolled hint`. Annotations:
`Array1[np.float32]`, `Constant[int]`.
"""

from __future__ import annotations

from typing import Any

from ocl_runtime.programs.kernels.names import NAMES

globals().update(NAMES)

__all__ = [*NAMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    raise AttributeError(f"the kernel language has no {name!r}; dir(ocl_runtime.language) lists what it has")
