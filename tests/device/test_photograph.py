"""The main job, as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from ocl_runtime.device import Device
from ocl_runtime.observe.stages import NAMES
from tests.support.arrays import python
from tests.support.checkout import ROOT
from tests.support.pictures import groups, title

WRITTEN = ["memory.svg", "photograph.png", "streams.svg", "timeline.html", "trace.json"]
EXAMPLE = str(ROOT / "examples" / "photograph.py")
OF_A_USER = 203, 117
"""One size for several pictures, since each size has kernels of its own."""


@pytest.fixture
def photograph(device: Device, cache_folder: Path, tmp_path: Path) -> Any:
    env = {"OCL_RUNTIME_DEVICE": device.key, "OCL_RUNTIME_CACHE": str(cache_folder), "OCL_RUNTIME_DUMP": None}
    return lambda *arguments: python(EXAMPLE, *arguments, cwd=tmp_path, env=env)


def drawn(path: Path, width: int, height: int, **more: Any) -> Path:
    """A picture with edges, a gradient and noise."""
    down, right = np.mgrid[:height, :width]
    image = np.stack([right * 255 // width, down * 255 // height, 255 * ((right // 8 + down // 8) % 2)], axis=2)
    noisy = image + np.random.default_rng(0).integers(-9, 9, image.shape)
    Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(path, **more)
    return path


def assert_done(done: Any, out: Path, width: int, height: int) -> None:
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{width} × {height} pixels on " in done.stdout
    compared = re.findall(
        r"^  (\w+) +(?:largest difference \S+, \S+ above \S+|\S+ of the pixels differ)$", done.stdout, re.M
    )
    assert compared == ["grey", "denoised", "edges", "equalised"]
    assert re.search(r"^time: \S+ ms, NumPy \S+ ms: \S+ times faster$", done.stdout, re.M)
    assert re.search(r"^kernels: \d+ for \d+ launches$", done.stdout, re.M)
    assert re.search(f"^look in .*{re.escape(out.name)} at$", done.stdout, re.M)
    assert_tiled(done, out)
    with Image.open(out / "photograph.png") as picture:
        assert picture.size == (4 * (width - 8), height - 8)
        panels = np.split(np.asarray(picture), 4, axis=1)
    assert set(np.unique(panels[3])) == {0, 255}
    assert 0.001 < np.mean(panels[3] == 255) < 0.5
    assert all(panel.std() > 10 for panel in panels)
    shown = [{path.name for path in folder.iterdir()} for folder in (out / "kernels").iterdir() if folder.is_dir()]
    kernels = {f"{number:02}_{name}" for number, name in enumerate(NAMES)}
    assert sum({name.partition(".")[0] for name in names} == kernels for names in shown) >= 6
    assert {"groups.txt", "bundles.txt"} in shown
    assert any("program.txt" in names for names in shown)


def assert_tiled(done: Any, out: Path) -> None:
    """The tiles gave the same, and what there is to see of them agrees with what ran."""
    assert re.search(r"^denoised and edges in tiles over 4 streams: the same, bit for bit$", done.stdout, re.M)
    times = r"time of these two: \S+ ms, NumPy \S+ ms; in one piece \S+ ms replayed, \S+ ms planned anew each time"
    assert re.search(f"^{times}$", done.stdout, re.M)
    said = r"^two or more streams were at work at once for \S+ ms of \S+ ms \(\d+%\), at most \d of them$"
    (words,) = re.findall(said, done.stdout, re.M)
    assert sorted(path.name for path in out.iterdir()) == sorted([*WRITTEN, "kernels"])
    (program,) = (out / "kernels").glob("*_tiled")
    for name in ("streams.svg", "memory.svg"):
        assert (out / name).read_bytes() == (program / name).read_bytes()
    text = (out / "streams.svg").read_text()
    nodes, lanes = groups(text, "node"), groups(text, "stream")
    assert len(nodes) >= 16  # 8 tiles, twice
    assert 'class="wait"' in text  # the halo of a tile is another stream's
    assert all("photograph.py:" in title(node) or "tiles.py:" in title(node) for node in nodes.values())
    assert groups((out / "memory.svg").read_text(), "buffer")
    complete = [event for event in json.loads((out / "trace.json").read_text())["traceEvents"] if event["ph"] == "X"]
    names = sorted(f"kernel {title(node).split()[1]}" for node in nodes.values())
    assert sorted(event["name"] for event in complete) == names
    assert len({event["tid"] for event in complete}) == len(lanes)
    page = (out / "timeline.html").read_text()
    assert len(groups(page, "command")) == len(nodes)
    assert len(groups(page, "stream")) == len(lanes)
    assert ElementTree.fromstring(page).findtext("body/p", "").endswith(f" streams: {words}.")


def test_the_packaged_picture(photograph: Any, tmp_path: Path) -> None:
    done = photograph()
    assert "look in demo-output at" in done.stdout
    assert_done(done, tmp_path / "demo-output", 512, 512)


def test_a_users_picture(photograph: Any, tmp_path: Path) -> None:
    out = tmp_path / "a folder" / "of mine"
    done = photograph(str(drawn(tmp_path / "mine.jpg", *OF_A_USER, quality=92)), "--out", str(out))
    assert_done(done, out, *OF_A_USER)
    first = (out / "photograph.png").read_bytes()
    grey = Image.open(drawn(tmp_path / "small.png", 16, 40)).convert("L")
    grey.save(tmp_path / "small.png")
    done = photograph(str(tmp_path / "small.png"), "--out", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    assert (out / "photograph.png").read_bytes() != first


def spoiled(tmp_path: Path, what: str) -> list[str]:
    good, out = drawn(tmp_path / "good.png", 64, 48), str(tmp_path / "out")
    (tmp_path / "text.png").write_text("this is no picture\n" * 100)
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "cut.png").write_bytes(good.read_bytes()[:2000])
    (tmp_path / "file").write_text("no folder")
    drawn(tmp_path / "tiny.png", 15, 64)
    return {
        "missing": [str(tmp_path / "there is none.png"), "--out", out],
        "a folder": [str(tmp_path), "--out", out],
        "text": [str(tmp_path / "text.png"), "--out", out],
        "empty": [str(tmp_path / "empty.jpg"), "--out", out],
        "cut off": [str(tmp_path / "cut.png"), "--out", out],
        "too small": [str(tmp_path / "tiny.png"), "--out", out],
        "out is a file": [str(good), "--out", str(tmp_path / "file")],
        "out is below a file": [str(good), "--out", str(tmp_path / "file" / "out")],
        "no device": [str(good), "--out", out, "--device", "abacus"],
    }[what]


REFUSED = {
    "missing": "the picture cannot be read: [Errno 2] No such file or directory",
    "a folder": "the picture cannot be read: [Errno 21] Is a directory",
    "text": "the picture cannot be read: cannot identify image file",
    "empty": "the picture cannot be read: cannot identify image file",
    "cut off": "the picture cannot be read: ",
    "too small": "a picture of (64, 15) pixels",
    "out is a file": "the dump folder cannot be written: [Errno 20] Not a directory",
    "out is below a file": "the dump folder cannot be written: [Errno 20] Not a directory",
    "no device": "no device is like 'abacus'",
}
ONE_AFTER_ANOTHER = """
import contextlib, io, json, pathlib, runpy, sys

example, given = sys.argv[1], json.loads(sys.argv[2])
sys.path[0] = str(pathlib.Path(example).parent)  # as Python sets it for a program
said = {}
for what, arguments in given.items():
    sys.argv[:] = [example, *arguments]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path(example, run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code
    said[what] = [code, out.getvalue(), err.getvalue()]
print(json.dumps(said))
"""


def test_bad_input(device: Device, cache_folder: Path, tmp_path: Path) -> None:
    """In one process, since each takes a second to import everything; the tests below look at how a process ends."""
    given = {what: spoiled(tmp_path, what) for what in REFUSED}
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    env = {"OCL_RUNTIME_DEVICE": device.key, "OCL_RUNTIME_CACHE": str(cache_folder), "OCL_RUNTIME_DUMP": None}
    done = python("-c", ONE_AFTER_ANOTHER, EXAMPLE, json.dumps(given), cwd=tmp_path, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    for what, message in REFUSED.items():
        code, out, err = said[what]
        assert (code, out) == (1, ""), what
        assert err.startswith("photograph: "), what
        assert message in err, what
        assert "remedy: " in err, what
        assert "Traceback" not in err, what
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["photograph.png", "timeline.html"])
def test_a_file_that_cannot_be_written_leaves_none(photograph: Any, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    (out / name).mkdir(parents=True)
    done = photograph(str(drawn(tmp_path / "good.png", *OF_A_USER)), "--out", str(out))
    assert done.returncode == 1
    assert f"photograph: {name} cannot be written" in done.stderr
    assert "remedy: choose --out" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in out.iterdir()) == sorted({"kernels", "photograph.png", name})


def test_a_wrong_command_line(photograph: Any) -> None:
    done = photograph("--colour")
    assert done.returncode == 2
    assert "usage: photograph.py" in done.stderr
