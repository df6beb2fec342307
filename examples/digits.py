#!/usr/bin/env python3
"""A small network learns to read handwritten digits, with arrays only.

    python examples/digits.py [--epochs N] [--hidden N] [--device WORDS]

The training is written once, for any library with the array API standard: a layer with tanh, one with softmax, cross
entropy, gradients by hand, Adam (Kingma and Ba, 2015). It runs with ocl_runtime and with NumPy, from the same weights,
over the same batches; where PyTorch is installed, the same network is trained there too. What each run learnt is
compared, and all are timed.

The 1,797 digits of 8 by 8 pixels are the test set of "Optical Recognition of Handwritten Digits" (E. Alpaydin and
C. Kaynak, UCI Machine Learning Repository, 1998, doi:10.24432/C50P49, licence CC BY 4.0), in digits.csv.gz: 64 pixels
from 0 to 16 and the digit, a line each.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.errors import Error

DATA = Path(__file__).with_name("digits.csv.gz")
TESTED = 297  # digits that are not learnt from
BATCH = 100
RATE, DECAYS = 2e-3, (0.9, 0.999)  # of Adam


@dataclass
class Learnt:
    """What a run ended with: the weights, the loss of each epoch, the part of the tested digits it reads, seconds."""

    weights: list[np.ndarray]
    losses: list[float]
    read: float
    seconds: float


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Pixels from 0 to 1, a row a digit, and which digits they are."""
    with gzip.open(DATA, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    return table[:, :64] / 16, table[:, 64].astype(np.int32)


def first_weights(hidden: int) -> list[np.ndarray]:
    """Uniform weights after Glorot and Bengio (2010), and biases of 0."""
    rng = np.random.default_rng(0)

    def layer(rows: int, columns: int) -> list[np.ndarray]:
        limit = np.sqrt(6 / (rows + columns))
        return [rng.uniform(-limit, limit, (rows, columns)).astype(np.float32), np.zeros(columns, np.float32)]

    return layer(64, hidden) + layer(hidden, 10)


def batches(count: int, epochs: int) -> list[list[np.ndarray]]:
    """For each epoch the rows of its batches."""
    rng = np.random.default_rng(1)
    orders = [rng.permutation(count).astype(np.int32) for _ in range(epochs)]
    return [[order[at : at + BATCH] for at in range(0, count, BATCH)] for order in orders]


def gradients(xp: Any, weights: list[Any], pixels: Any, labels: Any) -> tuple[Any, list[Any]]:
    """The mean cross entropy of a batch, and its derivative by each of the weights."""
    first, bias, second, shift = weights
    hidden = xp.tanh(pixels @ first + bias)
    scores = hidden @ second + shift
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    powers = xp.exp(scores)
    total = xp.sum(powers, axis=1, keepdims=True)
    right = xp.astype(labels[:, None] == xp.arange(10), xp.float32)
    loss = xp.sum((xp.log(total) - scores) * right) / len(labels)
    error = (powers / total - right) / len(labels)
    back = (error @ second.T) * (1 - hidden * hidden)
    return loss, [pixels.T @ back, xp.sum(back, axis=0), hidden.T @ error, xp.sum(error, axis=0)]


def train(
    xp: Any, given: list[np.ndarray], learnt: tuple[np.ndarray, np.ndarray], rows: list[list[np.ndarray]]
) -> tuple[list[Any], list[float]]:
    """The weights after Adam has seen all batches, and the mean loss of each epoch."""
    compute = ocl.compute if xp is ocl else lambda *_: None
    pixels, labels = (xp.asarray(one) for one in learnt)
    weights = [xp.asarray(one) for one in given]
    means, squares = ([xp.zeros_like(one) for one in weights] for _ in range(2))
    losses, step = [], 0
    for epoch in rows:
        total = xp.zeros((), dtype=xp.float32)
        for chosen in epoch:
            some = xp.asarray(chosen)
            loss, slopes = gradients(xp, weights, pixels[some], labels[some])
            step += 1
            one, two = (1 - decay**step for decay in DECAYS)
            for place, slope in enumerate(slopes):
                means[place] = DECAYS[0] * means[place] + (1 - DECAYS[0]) * slope
                squares[place] = DECAYS[1] * squares[place] + (1 - DECAYS[1]) * (slope * slope)
                change = means[place] / one / (xp.sqrt(squares[place] / two) + 1e-8)
                weights[place] = weights[place] - RATE * change
            total = total + loss
            compute(total, *weights, *means, *squares)  # starts it, and does not wait
        losses.append(float(total) / len(epoch))
    return weights, losses


def read(xp: Any, weights: list[Any], pixels: np.ndarray, labels: np.ndarray) -> float:
    """The part of some digits for which the right one has the highest score."""
    first, bias, second, shift = weights
    scores = xp.tanh(xp.asarray(pixels) @ first + bias) @ second + shift
    best = xp.max(scores, axis=1, keepdims=True) == scores
    right = best & (xp.asarray(labels)[:, None] == xp.arange(10))
    return float(xp.sum(xp.astype(right, xp.int32))) / len(labels)


def with_arrays(xp: Any, hidden: int, epochs: int) -> Learnt:
    """Trains with a library of arrays."""
    pixels, labels = digits()
    rows, given = batches(len(labels) - TESTED, epochs), first_weights(hidden)
    train(xp, given, (pixels[TESTED:], labels[TESTED:]), rows[:1])  # builds what there is to build
    start = time.perf_counter()
    weights, losses = train(xp, given, (pixels[TESTED:], labels[TESTED:]), rows)
    host = [one.numpy() if isinstance(one, ocl.Array) else one for one in weights]
    seconds = time.perf_counter() - start
    return Learnt(host, losses, read(xp, weights, pixels[:TESTED], labels[:TESTED]), seconds)


def with_torch(hidden: int, epochs: int) -> Learnt:
    """The same with PyTorch, on its GPU if it has one."""
    import torch  # noqa: PLC0415  # where it is installed

    device = "cuda" if torch.cuda.is_available() else "cpu"
    pixels, labels = digits()
    rows = batches(len(labels) - TESTED, epochs)

    def run(rows: list[list[np.ndarray]]) -> tuple[list[Any], list[float]]:
        x, y = torch.tensor(pixels[TESTED:], device=device), torch.tensor(labels[TESTED:], device=device).long()
        weights = [torch.tensor(one, device=device, requires_grad=True) for one in first_weights(hidden)]
        adam = torch.optim.Adam(weights, lr=RATE, betas=DECAYS, eps=1e-8)
        losses = []
        for epoch in rows:
            total = torch.zeros((), device=device)
            for chosen in epoch:
                some = torch.as_tensor(chosen, device=device).long()
                adam.zero_grad()
                scores = torch.tanh(x[some] @ weights[0] + weights[1]) @ weights[2] + weights[3]
                loss = torch.nn.functional.cross_entropy(scores, y[some])
                loss.backward()
                adam.step()
                total += loss.detach()
            losses.append(float(total) / len(epoch))
        return weights, losses

    run(rows[:1])
    start = time.perf_counter()
    weights, losses = run(rows)
    host = [one.detach().cpu().numpy() for one in weights]
    return Learnt(host, losses, read(np, host, pixels[:TESTED], labels[:TESTED]), time.perf_counter() - start)


def agrees(one: Learnt, other: Learnt) -> bool:
    """Whether two runs learnt the same, as far as float32 lets them: rounding grows a little with every step."""
    near = np.allclose(one.losses, other.losses, rtol=1e-3, atol=1e-5)
    return near and all(
        np.abs(a - b).max() <= 1e-2 * np.abs(b).max() for a, b in zip(one.weights, other.weights, strict=True)
    )


def main() -> int:
    """The runs, one after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--device", help="words that choose a device; see ocl-devices")
    given = parser.parse_args()
    try:
        runtime = ocl.Runtime(given.device)
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{runtime.device}: {given.epochs} epochs, 64 to {given.hidden} to 10")
    runs: dict[str, Callable[[], Learnt]] = {"NumPy": lambda: with_arrays(np, given.hidden, given.epochs)}
    with ocl.use(runtime):
        ours = with_arrays(ocl, given.hidden, given.epochs)
    print(f"  ocl_runtime  {ours.seconds:6.2f} s   loss {ours.losses[-1]:.5f}   reads {ours.read:.1%}")
    if importlib.util.find_spec("torch"):
        runs["PyTorch"] = lambda: with_torch(given.hidden, given.epochs)
    same = True
    for name, run in runs.items():
        theirs = run()
        equal = agrees(ours, theirs)
        same = same and equal
        print(
            f"  {name:11}  {theirs.seconds:6.2f} s   loss {theirs.losses[-1]:.5f}   reads {theirs.read:.1%}   "
            + ("learnt the same" if equal else "LEARNT SOMETHING ELSE")
        )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
