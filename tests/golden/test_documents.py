"""README and ARCHITECTURE.md show what the code does: their Python runs, and their generated text is compared.

A block after `<!-- test: run -->` is executed; one after `<!-- golden: STAGE -->` must be that stage of
a*b + sin(c) for a GPU.
"""

from __future__ import annotations

import json
import re
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
STAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md"]
DOCUMENTS = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ["STREAMS", "HOST_PROGRAMS", "INTEROP", "NUMPY", "RANDOM", "KERNELS", "RAW_KERNELS", "TUNING"]
    ),
]


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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_runs(path: Path, cache_folder: Path, tmp_path: Path) -> None:
    """In one process, since each takes half a second to import everything."""
    programs = []
    for number, block in enumerate(RUN.findall(path.read_text())):
        programs.append(tmp_path / f"block_{number}.py")  # kernels in Python need a file
        programs[-1].write_text(block, encoding="utf-8")
    assert programs, f"{path.name} has no block to run"
    done = python("-c", ONE_AFTER_ANOTHER, *map(str, programs), cwd=ROOT, env={"OCL_RUNTIME_CACHE": str(cache_folder)})
    assert done.returncode == 0, done.stderr
    for program, (out, fault) in zip(programs, json.loads(done.stdout), strict=True):
        assert not fault, f"{program.read_text()}\n{fault}"
        assert out, f"a block of {path.name} shows nothing:\n{program.read_text()}"


@pytest.mark.parametrize("path", STAGES, ids=lambda path: path.name)
def test_stages(path: Path, update_golden: bool) -> None:
    now = current_stages()
    document = path.read_text()
    renewed = GOLDEN.sub(lambda match: match[1] + now[match[2]] + match[4], document)
    assert GOLDEN.search(document), f"{path.name} shows no stage"
    if update_golden:
        path.write_text(renewed)
        document = renewed
    assert document == renewed, f"{path.name} shows what the code no longer does: run with --update-golden"
