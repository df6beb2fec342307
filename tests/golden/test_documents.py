"""README, ARCHITECTURE.md and others show what the code does: their Python runs, and their generated text is compared.

A block after `<!-- test: run -->` is executed; one after `<!-- golden: STAGE -->` must be that stage of
a*b + sin(c) for a GPU, in docs/TILES.md one of a product of matrices.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from ocl_ir.graph.printer import text
from ocl_ir.types import F32
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect
from ocl_runtime.commands.expression import Planner, parse
from ocl_runtime.observe.stages import plan_stages, stages
from ocl_runtime.plan.planner import Fusion, plan
from ocl_runtime.plan.target import Target
from tests.support.arrays import python
from tests.support.checkout import ROOT

RUN = re.compile(r"<!-- test: run -->\n```python\n(.*?)```", re.DOTALL)
GOLDEN = re.compile(r"(<!-- golden: (\w+) -->\n```\w+\n)(.*?)(```)", re.DOTALL)
DOCUMENTS = [
    ["docs/KERNELS"],
    ["README", "docs/TUNING", "docs/STREAMS", "docs/INTEROP"],
    ["docs/RAW_KERNELS", "docs/TILES", "docs/HOST_PROGRAMS", "docs/NUMPY", "docs/RANDOM"],
]
"""Whose blocks run in one process, about as long in each."""


ONE_AFTER_ANOTHER = """
import contextlib, io, json, runpy, sys, traceback

said = []
for program in sys.argv[1:]:
    out, fault = io.StringIO(), ""
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_path(program, run_name="__main__")
        except BaseException:
            fault = traceback.format_exc()
    said.append([out.getvalue(), fault])
print(json.dumps(said))
"""


def current_stages() -> dict[str, str]:
    fusions: list[Fusion] = []
    planner = Planner(Target(kind="gpu", vector_bytes=16, fp16=False), F32, watch_fusion=fusions.append)
    parsed = parse("a*b + sin(c)", ["a:f32[n]", "b:f32[n]", "c:f32[n]"], planner)
    (launch,) = plan([parsed.node], planner, parsed.names).launches
    compilation = compile_kernel(launch.kernel, "hybrid", Dialect())
    shown = {one.name: one.text for one in (*plan_stages(fusions[0]), *stages(compilation))}
    return {"graph": text(parsed.node, parsed.names), **shown}


MATRICES = Target(
    kind="gpu",
    compute_units=132,
    local_bytes=48 << 10,
    tile_bytes=227 << 10,
    matrix_instructions=("mma_f16", "mma_bf16", "mma_f64"),
    warpgroups=True,
)
"""As an H100 has it."""


def product_stages() -> dict[str, str]:
    """What becomes of tanh(x @ w + a) of three dtypes: fusion, all launches, and the loops over the inner axis."""
    launches: list[str] = []
    loops: dict[str, str] = {}
    for dtype in ("f32", "f64", "bf16"):
        fusions: list[Fusion] = []
        planner = Planner(MATRICES, F32, watch_fusion=fusions.append)
        parsed = parse(
            "tanh(x @ w + a)", [f"x:{dtype}[4096,4096]", f"w:{dtype}[4096,4096]", f"a:{dtype}[4096]"], planner
        )
        for launch in plan([parsed.node], planner, parsed.names).launches:
            items = math.prod(launch.group_size)
            groups = math.prod(launch.global_size) // items
            launches.append(f"{dtype:5} {launch.kernel.name}: {groups} groups of {items}")
            launches.append(f"      {launch.kernel.note}")
            loops[dtype] = compile_kernel(launch.kernel, "hybrid", Dialect()).source.text
            if dtype == "bf16":
                passed = {one.name: one.text for one in stages(compile_kernel(launch.kernel, "hybrid", Dialect()))}
                loops[dtype] = passed["dce"]
    shown = {one.name: one.text for one in plan_stages(fusions[0])}
    steps = _loop(loops["f32"], "    for (uint step", "    }")
    rows = re.compile(r"(\n *const float4 repeated_([2-9]|1\d).*|\n *sum_([2-9]|1\d)_\d = .*)+")
    return {
        "bundle": shown["bundles"],
        "launches": "\n".join([*launches, ""]),
        "steps": rows.sub("\n        …  // and so on, for 16 rows", steps),
        "boxes": _loop(loops["bf16"], "    for step", "      await products"),
    }


def _loop(text: str, begins: str, ends: str) -> str:
    """The lines of a text from one to another, moved to the left."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(begins))
    last = next(number for number, line in enumerate(lines) if number > first and line.startswith(ends))
    return textwrap.dedent("\n".join([*lines[first : last + 1], ""]))


STAGES = [
    (ROOT / "README.md", current_stages),
    (ROOT / "ARCHITECTURE.md", current_stages),
    (ROOT / "docs" / "TILES.md", product_stages),
]


@pytest.mark.parametrize("documents", DOCUMENTS, ids=" ".join)
def test_python_runs(documents: list[str], tmp_path: Path) -> None:
    """In few processes, since each takes a second to import everything and to try the device; nothing is kept on disk,
    for which PoCL would compile each kernel once more."""
    programs = []
    for document in documents:
        blocks = RUN.findall((ROOT / f"{document}.md").read_text())
        assert blocks, f"{document} has no block to run"
        for number, block in enumerate(blocks):
            programs.append(tmp_path / f"{Path(document).name}_{number}.py")  # kernels in Python need a file
            programs[-1].write_text(block, encoding="utf-8")
    done = python("-c", ONE_AFTER_ANOTHER, *map(str, programs), cwd=ROOT, env={"OCL_RUNTIME_CACHE": "off"})
    assert done.returncode == 0, done.stderr
    for program, (out, fault) in zip(programs, json.loads(done.stdout), strict=True):
        assert not fault, f"{program.name}:\n{program.read_text()}\n{fault}"
        assert out, f"{program.name} shows nothing:\n{program.read_text()}"


@pytest.mark.parametrize(("path", "made"), [pytest.param(*each, id=each[0].name) for each in STAGES])
def test_stages(path: Path, made: Callable[[], dict[str, str]], update_golden: bool) -> None:
    now = made()
    document = path.read_text()
    renewed = GOLDEN.sub(lambda match: match[1] + now[match[2]] + match[4], document)
    assert GOLDEN.search(document), f"{path.name} shows no stage"
    if update_golden:
        path.write_text(renewed)
        document = renewed
    assert document == renewed, f"{path.name} shows what the code no longer does: run with --update-golden"
