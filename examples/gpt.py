#!/usr/bin/env python3
"""A small transformer learns to write like the documentation of Python's standard library, with arrays only.

    python examples/gpt.py [STEPS] [--check] [--layers N] [--heads N] [--width N] [--context N] [--batch N] [--rate X]
                           [--out FOLDER] [--device WORDS]

It reads characters, as GPT-2 does tokens (A. Radford et al., 2019): embeddings of characters and positions, blocks of
attention and of two products with gelu between them behind layer norms, and a score for each character that may come
next. Each function of the model returns its value and a function that takes the gradient by this value and returns
those by what went in. A step of training with Adam (D. Kingma and J. Ba, 2015) is one captured function: Python runs
once, and the device in every step.

--check compares the loss and all gradients of a step with NumPy's in float64 (gpt_check.py).
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pictures import write_png

import ocl_runtime as ocl

MODULES = (
    "argparse bdb bisect calendar cmd code codecs collections configparser contextlib copy csv dataclasses datetime "
    "difflib dis doctest email.message enum fileinput fractions ftplib functools gettext glob gzip heapq html.parser "
    "http.client http.cookiejar http.server imaplib inspect io ipaddress json linecache locale logging mailbox "
    "mimetypes optparse pathlib pdb pickle pickletools platform plistlib poplib posixpath pprint profile pydoc queue "
    "random sched selectors shelve shlex shutil smtplib socket socketserver statistics string subprocess tarfile "
    "tempfile textwrap threading timeit tokenize trace traceback types unittest.case unittest.mock urllib.parse "
    "urllib.request uuid wave weakref xml.dom.minidom xml.etree.ElementTree zipfile _pydecimal _pyio"
)
CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))
RATE, DECAYS, WARM_UP = 5e-3, (0.9, 0.99), 20  # of Adam, and the steps in which its rate rises
Weights = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """Of the model and its batches."""

    layers: int = 2
    heads: int = 4
    width: int = 96
    context: int = 64
    batch: int = 16


def text() -> np.ndarray:
    """The documentation of the modules, their functions, classes and methods, as indices into CHARACTERS."""
    found: dict[str, None] = {}
    for name in MODULES.split():
        module = importlib.import_module(name)
        members = [vars(module)[key] for key in sorted(vars(module))]
        members = [x for x in members if getattr(x, "__module__", "") == name and callable(x)]
        methods = [vars(x)[key] for x in members if inspect.isclass(x) for key in sorted(vars(x))]
        for thing in (module, *members, *filter(inspect.isfunction, methods)):
            found[inspect.getdoc(thing) or ""] = None
    return np.array([CHARACTERS.index(c) for c in "\n\n".join(found) if c in CHARACTERS], np.int32)


def first_weights(sizes: Sizes) -> dict[str, np.ndarray]:
    """Normal numbers, by how many are added up; norms that change nothing; waves for positions, so that a step back is
    the same everywhere (A. Vaswani et al., 2017)."""
    rng, width, deep = np.random.default_rng(0), sizes.width, 2 * sizes.layers
    angles = np.arange(sizes.context)[:, None] / 1000 ** (np.arange(0, width, 2) / width)
    weights = {
        "characters": rng.normal(0, 0.5, (len(CHARACTERS), width)),
        "positions": np.concatenate([np.sin(angles), np.cos(angles)], axis=1) / 2,
        "scores": rng.normal(0, 0.02, (width, len(CHARACTERS))),
    }
    for layer in range(sizes.layers):
        weights[f"{layer} qkv"] = rng.normal(0, width**-0.5, (width, 3 * width))
        weights[f"{layer} projection"] = rng.normal(0, (deep * width) ** -0.5, (width, width))
        weights[f"{layer} wide"] = rng.normal(0, width**-0.5, (width, 4 * width))
        weights[f"{layer} narrow"] = rng.normal(0, (deep * 4 * width) ** -0.5, (4 * width, width))
    for norm in ("last", *(f"{layer} {norm}" for layer in range(sizes.layers) for norm in ("first", "second"))):
        weights |= {f"{norm} scale": np.ones(width), f"{norm} shift": np.zeros(width)}
    return {name: x.astype(np.float32) for name, x in weights.items()}


def linear(x: Any, w: Any) -> tuple[Any, Callable]:
    """A product with weights."""
    return x @ w, lambda above: (above @ w.T, x.T @ above)


def layer_norm(xp: Any, x: Any, scale: Any, shift: Any) -> tuple[Any, Callable]:
    """Rows with a mean of 0 and a deviation of 1, scaled and shifted."""

    def mean(rows: Any) -> Any:
        return xp.mean(rows, axis=-1, keepdims=True)

    centred = x - mean(x)
    inverse = 1 / xp.sqrt(mean(centred * centred) + 1e-5)
    normal = centred * inverse

    def back(above: Any) -> tuple[Any, Any, Any]:
        inner = above * scale
        by_x = inverse * (inner - mean(inner) - normal * mean(inner * normal))
        return by_x, xp.sum(above * normal, axis=0), xp.sum(above, axis=0)

    return normal * scale + shift, back


def gelu(xp: Any, x: Any) -> tuple[Any, Callable]:
    """x times the normal distribution function of x, nearly."""
    root = math.sqrt(2 / math.pi)
    tanh = xp.tanh(root * (x + 0.044715 * x * x * x))
    slope = (1 + tanh) / 2 + x / 2 * (1 - tanh * tanh) * root * (1 + 3 * 0.044715 * x * x)
    return x * (1 + tanh) / 2, lambda above: above * slope


def attention(xp: Any, qkv: Any, sizes: Sizes) -> tuple[Any, Callable]:
    """What each position takes from itself and those before it. Queries, keys and values stand side by side."""
    shape = (-1, sizes.context, sizes.heads, sizes.width // sizes.heads)
    q, k, v = xp.permute_dims(xp.reshape(qkv, (*shape[:2], 3, *shape[2:])), (2, 0, 3, 1, 4))

    def rows(heads: Any) -> Any:
        return xp.reshape(xp.permute_dims(heads, (0, 2, 1, 3)), (-1, sizes.width))

    def back(above: Any) -> Any:
        heads = xp.permute_dims(xp.reshape(above, shape), (0, 2, 1, 3))
        return xp.concat([rows(x) for x in xp.attention_gradients(q, k, v, heads, causal=True)], axis=1)

    return rows(xp.attention(q, k, v, causal=True)), back


def block(xp: Any, x: Any, w: Weights, layer: int, sizes: Sizes) -> tuple[Any, Callable]:
    """Attention, then two products with gelu between them, each added to what comes in."""
    y, back_first = layer_norm(xp, x, w[f"{layer} first scale"], w[f"{layer} first shift"])
    y, back_qkv = linear(y, w[f"{layer} qkv"])
    y, back_attention = attention(xp, y, sizes)
    y, back_projection = linear(y, w[f"{layer} projection"])
    x = x + y
    y, back_second = layer_norm(xp, x, w[f"{layer} second scale"], w[f"{layer} second shift"])
    y, back_wide = linear(y, w[f"{layer} wide"])
    y, back_gelu = gelu(xp, y)
    y, back_narrow = linear(y, w[f"{layer} narrow"])

    def back(above: Any) -> tuple[Any, Weights]:
        found: Weights = {}
        g, found["narrow"] = back_narrow(above)
        g, found["wide"] = back_wide(back_gelu(g))
        g, found["second scale"], found["second shift"] = back_second(g)
        above = above + g
        g, found["projection"] = back_projection(above)
        g, found["qkv"] = back_qkv(back_attention(g))
        g, found["first scale"], found["first shift"] = back_first(g)
        return above + g, {f"{layer} {name}": x for name, x in found.items()}

    return x + y, back


def transformer(xp: Any, w: Weights, characters: Any, sizes: Sizes) -> tuple[Any, Callable]:
    """The scores of what comes next, a row for each position of each text of a batch."""
    x, backs = xp.reshape(w["characters"][characters] + w["positions"], (-1, sizes.width)), []
    for layer in range(sizes.layers):
        x, back_block = block(xp, x, w, layer, sizes)
        backs.append(back_block)
    x, back_last = layer_norm(xp, x, w["last scale"], w["last shift"])
    scores, back_scores = linear(x, w["scores"])

    def back(above: Any) -> Weights:
        found: Weights = {}
        g, found["scores"] = back_scores(above)
        g, found["last scale"], found["last shift"] = back_last(g)
        for back_block in reversed(backs):
            g, by_block = back_block(g)
            found |= by_block
        g = xp.reshape(g, (-1, sizes.context, sizes.width))
        found["positions"] = xp.sum(g, axis=0)
        found["characters"] = xp.zeros_like(w["characters"])
        xp.add_at(found["characters"], characters, g)
        return found

    return scores, back


def cross_entropy(xp: Any, scores: Any, right: Any) -> tuple[Any, Any]:
    """The mean of minus the logarithms of what is given to the right characters, and its gradient."""
    shifted = scores - xp.max(scores, axis=-1, keepdims=True)
    total = xp.sum(xp.exp(shifted), axis=-1, keepdims=True)
    hit = xp.reshape(right, (-1, 1)) == xp.arange(len(CHARACTERS))
    loss = -xp.mean(xp.sum(xp.where(hit, shifted - xp.log(total), 0), axis=-1))
    return loss, (xp.exp(shifted) / total - xp.astype(hit, scores.dtype)) / scores.shape[0]


def gradients(xp: Any, w: Weights, characters: Any, sizes: Sizes) -> tuple[Any, Weights]:
    """The loss of texts that are one character longer than the context, and its gradient by all weights."""
    scores, back = transformer(xp, w, characters[:, :-1], sizes)
    loss, above = cross_entropy(xp, scores, characters[:, 1:])
    return loss, back(above)


def training(sizes: Sizes) -> Callable:
    """A step of Adam, captured: weights, means and squares after it, and the loss before it."""

    @ocl.capture
    def step(w: Weights, means: Weights, squares: Weights, learnt: Any, starts: Any, rate: float) -> tuple:
        characters = learnt[starts[:, None] + ocl.arange(sizes.context + 1, dtype=ocl.int32)]
        loss, found = gradients(ocl, w, characters, sizes)
        first, second = DECAYS
        means = {name: first * x + (1 - first) * found[name] for name, x in means.items()}
        squares = {name: second * x + (1 - second) * found[name] ** 2 for name, x in squares.items()}
        w = {name: x - rate * means[name] / (ocl.sqrt(squares[name]) + 1e-8) for name, x in w.items()}
        return w, means, squares, loss

    return step


def train(learnt: np.ndarray, sizes: Sizes, steps: int, rate: float) -> tuple[Weights, list[float]]:
    """The weights after so many steps, and the losses. The rate rises, and falls as a cosine does."""
    w = {name: ocl.asarray(x) for name, x in first_weights(sizes).items()}
    means, squares = ({name: ocl.zeros_like(x) for name, x in w.items()} for _ in range(2))
    step, on_device, rng = training(sizes), ocl.asarray(learnt), np.random.default_rng(1)
    losses, begin = [], time.perf_counter()
    for number in range(steps):
        starts = rng.integers(0, len(learnt) - sizes.context, sizes.batch, dtype=np.int32)
        now = rate * min(1, (number + 1) / WARM_UP) * (0.55 + 0.45 * math.cos(math.pi * number / steps))
        first, second = (1 - decay ** (number + 1) for decay in DECAYS)  # the means begin at 0
        now *= math.sqrt(second) / first
        w, means, squares, loss = step(w, means, squares, on_device, ocl.asarray(starts), now)
        losses.append(loss)
        if number % max(1, steps // 10) == 0 or number == steps - 1:
            print(f"  step {number:5}   loss {float(loss):.3f}   {time.perf_counter() - begin:6.1f} s")
    return w, [float(loss) for loss in losses]


def write(w: Weights, sizes: Sizes, begin: str, count: int) -> str:
    """A text that goes on so many characters, each drawn by its scores."""
    scores = ocl.capture(lambda w, characters: transformer(ocl, w, characters, sizes)[0])
    written, rng = [CHARACTERS.index(c) for c in begin], np.random.default_rng(2)
    for _ in range(count):
        seen = written[-sizes.context :]
        padded = np.array([seen + [0] * (sizes.context - len(seen))], np.int32)  # no position looks at later ones
        row = scores(w, ocl.asarray(padded))[len(seen) - 1].numpy() / 0.8
        chances = np.exp(row.astype(np.float64) - row.max())
        written.append(int(rng.choice(len(CHARACTERS), p=chances / chances.sum())))
    return "".join(CHARACTERS[index] for index in written)


def curve(losses: list[float]) -> np.ndarray:
    """The losses from left to right, over a line for each whole number: of single steps, and means of ten."""
    height, width, top = 240, 480, 5
    pixels, count = np.ones((height, width, 3)), len(losses)
    pixels[[height - height * whole // top for whole in range(1, top)]] = 0.85
    means = [np.mean(losses[max(0, at - 9) : at + 1]) for at in range(count)]
    for values, colour, thick in ((losses, (0.7, 0.8, 1), 1), (means, (0.1, 0.2, 0.8), 2)):
        heights = np.interp(np.linspace(0, count - 1, width), range(count), values) / top
        rows = (height * (1 - np.clip(heights, 0, 1))).astype(int)
        for column, (row, before) in enumerate(zip(rows, [rows[0], *rows], strict=False)):
            pixels[min(row, before) : max(row, before) + thick, column] = colour
    return pixels


def run(steps: int, out: Path, sizes: Sizes = Sizes(), rate: float = RATE) -> None:
    """Trains, draws the loss and writes."""
    learnt = text()
    count = sum(x.size for x in first_weights(sizes).values())
    print(f"{len(learnt):,} characters, {count:,} weights, {sizes.batch} times {sizes.context} characters a step")
    begin = time.perf_counter()
    w, losses = train(learnt, sizes, steps, rate)
    print(f"{steps} steps in {time.perf_counter() - begin:.1f} s")
    print("\n" + write(w, sizes, "Return the ", 300) + "\n")
    write_png(out / "gpt.png", curve(losses))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="?", type=int, default=400, help="how many (400)")
    parser.add_argument("--check", action="store_true", help="compare a step with NumPy")
    for name, default in vars(Sizes()).items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"({default})")
    parser.add_argument("--rate", type=float, default=RATE, help=f"of Adam ({RATE})")
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for the picture (demo-output)")
    parser.add_argument("--device", help="words of the device: gpu, cpu, pocl, nvidia, … (default: the best)")
    given = parser.parse_args()
    sizes = Sizes(*(getattr(given, name) for name in vars(Sizes())))
    with ocl.use(ocl.Runtime(given.device)) as runtime:
        print(runtime.device)
        if given.check:
            from gpt_check import check

            print(f"loss and gradients are NumPy's, up to {check(text(), sizes):.1e} of the greatest element")
        else:
            run(given.steps, given.out, sizes, given.rate)


if __name__ == "__main__":
    main()
