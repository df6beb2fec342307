#!/usr/bin/env python3
"""The spectrogram of a sound: how strong each frequency is, and when.

    python examples/spectrogram.py [SECONDS] [--out FOLDER] [--device WORDS]

Plucked strings, whose overtones fade, and a whistle that glides over them. Overlapping frames are taken, windowed and
transformed, and the power of each frequency is made into decibels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pictures import heat, main, write_png

import ocl_runtime as ocl

RATE = 44100  # samples a second
FRAME, HOP = 2048, 256  # samples of a frame, and from one to the next
NOTES = (261.63, 329.63, 392.00, 523.25, 392.00, 329.63)  # a broken chord of C major, in Hz
EVERY = 0.4  # seconds from one note to the next
RANGE = 80.0  # decibels from black to white


def sound(seconds: int) -> np.ndarray:
    """Strings, one after the other, each with ten overtones of which the higher ones fade sooner; and a whistle."""
    time = np.arange(seconds * RATE) / RATE
    total = 0.3 * np.sin(2 * np.pi * np.cumsum(6000 + 3000 * np.sin(2 * time)) / RATE)
    for number in range(int(seconds / EVERY)):
        since = time[int(number * EVERY * RATE) :]
        since = since - since[0]
        for overtone in range(1, 11):
            wave = np.sin(2 * np.pi * NOTES[number % len(NOTES)] * overtone * since)
            total[-since.size :] += wave * np.exp(-1.5 * overtone**0.5 * since) / overtone
    return total.astype(np.float32)


def decibels(xp, samples):
    """The power of each frequency in each frame, in decibels below the strongest."""
    first = xp.arange((samples.shape[0] - FRAME) // HOP + 1) * HOP
    frames = xp.take(samples, first[:, None] + xp.arange(FRAME)[None, :])
    window = 0.5 - 0.5 * xp.cos(xp.arange(FRAME, dtype=xp.float32) * (2 * np.pi / FRAME))
    spectra = xp.fft.rfft(frames * window)
    power = xp.real(spectra) ** 2 + xp.imag(spectra) ** 2
    return 10 * xp.log10(power / xp.max(power) + 1e-12)


def run(seconds: int, out: Path) -> None:
    """Transforms the sound, compares, and draws."""
    samples = sound(seconds)
    found = decibels(ocl, ocl.asarray(samples)).numpy()
    expected = decibels(np, samples.astype(np.float64))
    heard = expected > -RANGE
    apart = np.abs(found - expected)[heard].max()
    print(f"{len(found)} frames of {FRAME} samples: within {apart:.3f} decibels of NumPy's in float64")
    assert apart < 0.5
    shown = np.clip(found[:, : FRAME // 4].T[::-1] / RANGE + 1, 0, 1)  # up to a quarter of the rate, low ones below
    write_png(out / "spectrogram.png", heat(shown))


if __name__ == "__main__":
    main(__doc__ or "", run, 6)
