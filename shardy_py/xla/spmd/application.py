"""An op that is to be partitioned, as handlers get it.

Not here: the handlers (`handlers.py`, `indexed_handlers.py`), the program around the op (`walk.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord
from shardy_py.xla.spmd.einsum_loops import EinsumLoops
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.tiling import Shape, Tiling


@dataclass(frozen=True)
class Application:
    """An op to partition: its record, its operands, the tilings of its results, and which are used.

    is_unreduced: the first result is left to be reduced by a later op.
    loops: when products become loops of permutes; None: never. shared: the operands, by number, that another
        op gathers alike.
    """

    record: OpRecord
    operands: tuple[HeldTensor, ...]
    targets: tuple[Tiling, ...]
    used: tuple[bool, ...] = ()
    is_unreduced: bool = False
    loops: EinsumLoops | None = None
    shared: frozenset[int] = frozenset()

    def is_used(self, result: int) -> bool:
        """Returns whether the program uses a result."""
        return not self.used or self.used[result]

    def shape(self, result: int = 0) -> Shape:
        """The shape of a result; raises ShardyError if it is not a static tensor."""
        return static_shape(self.record, result)

    def element(self, result: int = 0) -> str:
        """The element type of a result."""
        type_ = self.record.results[result]
        return type_.element if type_ else ""

    @property
    def results(self) -> list[tuple[Shape, str]]:
        """The shapes and element types of the results."""
        return [(self.shape(i), self.element(i)) for i in range(len(self.targets))]

    @property
    def attributes(self) -> Any:
        """The attributes of the op."""
        return self.record.attributes


Handler = Callable[[Application], Sequence[HeldTensor]]


def static_shape(record: OpRecord, result: int) -> Shape:
    """The shape of a result of an op; raises ShardyError if it is not a static tensor."""
    type_ = record.results[result]
    sizes = type_.shape if type_ else ()
    if type_ is None or any(size is None for size in sizes):
        raise ShardyError.unsupported(f"'{record.name}' with results that are not static tensors")
    return tuple(size or 0 for size in sizes)
