#!/usr/bin/env python3
"""Stars that attract each other: forces by a kernel with tiles in local memory, everything else by array expressions.

    python examples/n_body.py [STARS] [--out FOLDER] [--device WORDS]

Each group loads as many stars at once as it has work-items, which then all meet them. The accelerations are compared
with NumPy's, and the energy after the last step with that before the first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pictures import heat, main, write_png

import ocl_runtime as ocl
from ocl_runtime.language import (
    Array1,
    Array2,
    barrier,
    cdiv,
    float32,
    global_id,
    local_array,
    local_id,
    sqrt,
    unrolled,
)

GROUP = 128
SOFTENING = 0.05
STEP, STEPS = 0.005, 100


@ocl.kernel(local=GROUP)
def attract(positions: Array2, masses: Array1, accelerations: Array2, potentials: Array1):
    """Rows of positions and accelerations are x, y and z."""
    i, lane, n = global_id(0), local_id(0), masses.size
    own = min(i, n - 1)
    x, y, z = positions[0, own], positions[1, own], positions[2, own]
    ax, ay, az, potential = float32(0), float32(0), float32(0), float32(0)
    part = local_array((4, GROUP), float32)
    for start in range(0, n, GROUP):
        j = start + lane
        for axis in unrolled(range(3)):
            part[axis, lane] = positions[axis, j] if j < n else 0
        part[3, lane] = masses[j] if j < n else 0
        barrier()
        for k in range(GROUP):
            dx, dy, dz = part[0, k] - x, part[1, k] - y, part[2, k] - z
            inverse = 1 / sqrt(dx * dx + dy * dy + dz * dz + SOFTENING**2)
            pull = part[3, k] * inverse
            potential -= pull
            pull = pull * inverse * inverse
            ax, ay, az = ax + pull * dx, ay + pull * dy, az + pull * dz
        barrier()
    if i < n:
        accelerations[0, i], accelerations[1, i], accelerations[2, i] = ax, ay, az
        potentials[i] = potential


def galaxy(stars: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and masses of stars in a disc that turns."""
    rng = np.random.default_rng(0)
    radius, angle = np.sqrt(rng.random(stars)), 2 * np.pi * rng.random(stars)
    positions = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0.05 * rng.standard_normal(stars)])
    speed = 0.8 * np.sqrt(radius)
    velocities = np.stack([-speed * np.sin(angle), speed * np.cos(angle), np.zeros(stars)])
    return positions.astype("f4"), velocities.astype("f4"), np.full(stars, 1 / stars, np.float32)


def reference(positions: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """The accelerations in float64."""
    total = np.zeros(positions.shape)
    for i in range(len(masses)):
        away = positions.astype(np.float64) - positions[:, i : i + 1]
        total[:, i] = (away * masses / ((away**2).sum(0) + SOFTENING**2) ** 1.5).sum(1)
    return total


def run(stars: int, out: Path) -> None:
    """Lets a galaxy turn, and compares."""
    host_positions, host_velocities, host_masses = galaxy(stars)
    positions, velocities, masses = map(ocl.asarray, (host_positions, host_velocities, host_masses))
    accelerations, potentials = ocl.empty((3, stars)), ocl.empty(stars)
    force = attract.groups[cdiv(stars, GROUP)]

    def energy() -> float:
        kinetic = 0.5 * ocl.sum(masses * velocities * velocities)
        return float(kinetic + 0.5 * ocl.sum(masses * potentials))

    force(positions, masses, accelerations, potentials)
    first, before = accelerations.numpy(), energy()
    for _ in range(STEPS):
        velocities += 0.5 * STEP * accelerations
        positions += STEP * velocities
        force(positions, masses, accelerations, potentials)
        velocities += 0.5 * STEP * accelerations
    after = energy()

    wanted = reference(host_positions, host_masses)
    np.testing.assert_allclose(first, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
    drift = abs(after / before - 1)
    assert drift < 0.01, f"the energy changed from {before} to {after}"
    print(f"{stars} stars, {STEPS} steps: the energy changed by {drift:.1e}")
    sky, _, _ = np.histogram2d(*positions.numpy()[:2], bins=256, range=[[-1.5, 1.5]] * 2)
    write_png(out / "n_body.png", heat(np.log1p(sky) / np.log1p(sky.max())))


if __name__ == "__main__":
    main(__doc__ or "", run, 4096)
