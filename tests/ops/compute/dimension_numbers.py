"""Random dimension numbers of gathers and scatters."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from shardy_py.ops.compute import Array


class DimensionNumbers:
    """Random dimension numbers, with the shapes of an operand, of indices, and of slices or updates.

    sizes: those of a slice or window. moved_shape: the shape of the slices or updates.
    """

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.rng = np.random.default_rng(seed)
        rank = random.randint(1, 4)
        self.shape = [random.randint(1, 5) for _ in range(rank)]
        dimensions = random.sample(range(rank), rank)
        self.batching = sorted(dimensions[: random.randint(0, min(2, rank))])
        others = [d for d in dimensions if d not in self.batching]
        self.mapped = others[: random.randint(0, len(others))]
        batch = [random.randint(1, 4) for _ in range(len(self.batching) + random.randint(0, 2))]
        batched = random.sample(range(len(batch)), len(self.batching))
        for dimension, place in zip(self.batching, batched, strict=True):
            batch[place] = self.shape[dimension]
        self.batch, self.vector_dim = batch, random.randint(0, len(batch))
        if len(self.mapped) == 1 and random.random() < 0.5:
            self.vector_dim = len(batch)
            self.index_shape, self.batched = batch, batched
        else:
            self.index_shape = [*batch[: self.vector_dim], len(self.mapped), *batch[self.vector_dim :]]
            self.batched = [place + (place >= self.vector_dim) for place in batched]
        wide = (
            random.randint(1, size) if random.random() < 0.6 else random.choice((1, size))
            for size in self.shape
        )
        self.sizes = [1 if d in self.batching else size for d, size in enumerate(wide)]
        single = [d for d in others if self.sizes[d] == 1]
        self.dropped = sorted(d for d in single if random.random() < 0.7)
        self.kept = [d for d in range(rank) if d not in self.dropped and d not in self.batching]
        moved_rank = len(batch) + len(self.kept)
        self.window_dims = sorted(random.sample(range(moved_rank), len(self.kept)))
        self.batch_dims = [d for d in range(moved_rank) if d not in self.window_dims]
        self.moved_shape = [0] * moved_rank
        for dimension, size in zip(self.batch_dims, batch, strict=True):
            self.moved_shape[dimension] = size
        for dimension, kept in zip(self.window_dims, self.kept, strict=True):
            self.moved_shape[dimension] = self.sizes[kept]

    def array(self, shape: list[int], low: int, high: int) -> Array:
        """Returns random integers in one lane or three."""
        return self.rng.integers(low, high, (self.random.choice((1, 3)), *shape))

    def place(self, indices: Array, moved: tuple[int, ...], *, is_clamped: bool) -> tuple[int, ...]:
        """Returns the element of the operand that an element of the slices is."""
        batch = [moved[d] for d in self.batch_dims]
        vector: Any = (
            [indices[tuple(batch)]]
            if self.vector_dim == indices.ndim
            else indices[(*batch[: self.vector_dim], slice(None), *batch[self.vector_dim :])]
        )
        place = [0] * len(self.shape)
        for dimension, start in zip(self.mapped, vector, strict=True):
            last = self.shape[dimension] - self.sizes[dimension]
            place[dimension] = min(max(int(start), 0), last) if is_clamped else int(start)
        for dimension, source in zip(self.batching, self.batched, strict=True):
            place[dimension] += batch[source - (source > self.vector_dim)]
        for dimension, kept in zip(self.window_dims, self.kept, strict=True):
            place[kept] += moved[dimension]
        return tuple(place)

    def named(self, window: str, dropped: str, batching: str, batched: str, mapped: str) -> dict[str, Any]:
        """Returns the dimension numbers under an op's names."""
        return {
            window: tuple(self.window_dims),
            dropped: tuple(self.dropped),
            batching: tuple(self.batching),
            batched: tuple(self.batched),
            mapped: tuple(self.mapped),
            "index_vector_dim": self.vector_dim,
        }
