"""Breadth-first search: the vertices of a level lie in a queue; who reaches a vertex first puts it into the next."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import Array1, Array2, atomic_add, atomic_compare_exchange, global_id, global_size
from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem

GROUP, GROUPS = 128, 32


@ocl.kernel(local=GROUP)
def expand(begins: Array1, targets: Array1, levels: Array1, queues: Array2, counts: Array1, level):
    """Queues are used by turns; each level has a count of its own."""
    for k in range(global_id(0), counts[level], global_size(0)):
        vertex = queues[level % 2, k]
        for edge in range(begins[vertex], begins[vertex + 1]):
            target = targets[edge]
            if atomic_compare_exchange(levels, target, -1, level + 1) == -1:
                queues[(level + 1) % 2, atomic_add(counts, level + 1, 1)] = target


SOURCE = """
#define GROUP 128

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void expand(__global const int *restrict begins, __global const int *restrict targets, __global int *restrict levels,
            __global int *restrict queues, __global int *restrict counts, int level, int n)
{
    int count = counts[level];
    for (int k = get_global_id(0); k < count; k += get_global_size(0)) {
        int vertex = queues[level % 2 * n + k];
        int end = begins[vertex + 1];
        for (int edge = begins[vertex]; edge < end; edge++) {
            int target = targets[edge];
            if (atomic_cmpxchg(&levels[target], -1, level + 1) == -1)
                queues[(level + 1) % 2 * n + atomic_add(&counts[level + 1], 1)] = target;
        }
    }
}
"""


def problem(n: int, degree: int) -> Problem:
    """A graph of n vertices with so many edges each on average, searched from vertex 0."""
    rng = np.random.default_rng(14)
    degrees = rng.poisson(degree, n)
    begins = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32)
    targets = rng.integers(0, n, begins[-1]).astype(np.int32)
    start = np.full(n, -1, np.int32)
    start[0] = 0

    reached, frontier, depth = start.copy(), np.array([0]), 0
    while frontier.size:
        depth += 1
        after = np.concatenate([targets[begins[vertex] : begins[vertex + 1]] for vertex in frontier])
        frontier = np.unique(after[reached[after] == -1])
        reached[frontier] = depth

    def expected() -> Arrays:
        return {"levels": reached, "counts": np.append(np.bincount(reached[reached >= 0], minlength=depth), 0)}

    names = ("begins", "targets", "levels", "queues", "counts")
    counts = np.zeros(depth + 1, np.int32)
    counts[0] = 1
    return Problem(
        {
            "begins": begins,
            "targets": targets,
            "levels": start,
            "queues": np.zeros((2, n), np.int32),
            "counts": counts,
        },
        [Launch(expand, (GROUPS,), (*names, level), (*names, level, n)) for level in range(depth)],
        expected,
    )


CLASSIC = Classic("breadth-first search", SOURCE, problem, small=(1201, 4), real=(200_003, 6))
