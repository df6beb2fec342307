"""The examples run, agree with NumPy, and draw what there is to see."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support.checkout import ROOT

SIZES = {
    "n_body": 300,
    "life": 61,
    "mandelbrot": 80,
    "equalise": 70,
    "bitonic_sort": 5000,
    "matrix_product": 131,
    "prefix_sum": 70_001,
    "bilateral": 53,
    "jacobi": 37,
    "spheres": 60,
    "spectrogram": 2,
    "deblur": 9,
    "options": 20,
    "eigendigits": 12,
    "gpt": 2,
}
DRAWN = {
    "n_body",
    "life",
    "mandelbrot",
    "equalise",
    "bilateral",
    "jacobi",
    "spheres",
    "spectrogram",
    "deblur",
    "options",
    "eigendigits",
    "gpt",
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", SIZES)
def test_an_example(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples")
    importlib.import_module(name).run(SIZES[name], tmp_path)
    assert capsys.readouterr().out
    assert {path.stem for path in tmp_path.iterdir()} == DRAWN & {name}
    for path in tmp_path.iterdir():
        with Image.open(path) as picture:
            assert np.asarray(picture).std() > 5
