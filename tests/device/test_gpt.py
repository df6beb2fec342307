"""The transformer of the example: its gradients are right, and it learns."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.support.checkout import ROOT


@pytest.fixture
def gpt(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "examples")
    return importlib.import_module("gpt")


@pytest.mark.parametrize("sizes", [(2, 2, 16, 8, 3), (1, 3, 12, 5, 1)])
def test_loss_and_gradients_are_those_of_numpy(gpt: ModuleType, sizes: tuple[int, ...]) -> None:
    check = importlib.import_module("gpt_check").check
    assert check(gpt.text(), gpt.Sizes(*sizes)) < 1e-5


def test_the_loss_falls(gpt: ModuleType, capsys: pytest.CaptureFixture) -> None:
    weights, losses = gpt.train(gpt.text(), gpt.Sizes(layers=1, width=32, context=16), 40, 1e-2)
    assert abs(losses[0] - np.log(len(gpt.CHARACTERS))) < 0.1
    assert np.mean(losses[-5:]) < 3.3
    assert all(np.isfinite(x.numpy()).all() for x in weights.values())
    assert capsys.readouterr().out.count("loss") > 5


def test_the_text_is_the_same_every_time(gpt: ModuleType) -> None:
    text = gpt.text()
    np.testing.assert_array_equal(text, gpt.text())
    assert len(text) > 300_000
    assert {*range(len(gpt.CHARACTERS))} >= {*np.unique(text)}


def test_the_command_line(
    gpt: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    small = ["--layers", "1", "--width", "16", "--context", "8", "--batch", "2"]
    monkeypatch.setattr(sys, "argv", ["gpt.py", "3", "--out", str(tmp_path), *small])
    gpt.main()
    assert "Return the " in capsys.readouterr().out
    assert (tmp_path / "gpt.png").exists()
    monkeypatch.setattr(sys, "argv", ["gpt.py", "--check", *small])
    gpt.main()
    assert "are NumPy's" in capsys.readouterr().out
