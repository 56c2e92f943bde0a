"""The rows of the memory report: totals, the op at the peak, tensors, entry functions.

Not here: what they are computed from, and the report (`report.py`).
"""

from __future__ import annotations

from shardy_py.base.records import dataclass
from shardy_py.hardware.tensor_bytes import TensorBytes
from shardy_py.report.memory import shown
from shardy_py.report.tables import bytes_text, type_text
from shardy_py.sharding import TensorSharding


@dataclass(frozen=True, slots=True)
class Total:
    """A number of tensors and the sum of their bytes."""

    count: int
    bytes: TensorBytes

    def cells(self) -> tuple[str, ...]:
        """Returns count, global, local and padded bytes, and the share of padding."""
        size = self.bytes
        sizes = map(bytes_text, (size.global_bytes, size.local_bytes, size.padded_bytes))
        return f"{self.count:,}", *sizes, f"{size.waste:.1%}"


@dataclass(frozen=True, slots=True)
class PeakOp:
    """An op at the peak: its function, op name, the name of its first result ("" if none), location."""

    function: str
    op: str
    name: str
    location: str

    def __str__(self) -> str:
        name = f"{self.name} = " if self.name else ""
        location = f" ({self.location})" if self.location else ""
        return f"{name}{self.op} of @{self.function}{location}"


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One array of the program.

    name: `%3`, `%arg0`, `result 0`; `copy to %3` of a copy that becomes %3.
    op: the op that defines it; of an argument or a copied result the function.
    shape, local_shape: global, and on each device; None for a dynamic size without a bound.
    not_counted: the reason why its bytes are not counted, "" if they are.
    """

    name: str
    function: str
    op: str
    element_type: str
    shape: tuple[int | None, ...]
    local_shape: tuple[int | None, ...]
    sharding: TensorSharding | None
    bytes: TensorBytes
    location: str
    not_counted: str = ""

    def cells(self, *, has_one_mesh: bool) -> tuple[str, ...]:
        """Returns name, sharding (without its mesh if there is one only), types, bytes and location."""
        sharding = "-" if self.sharding is None else str(self.sharding)
        prefix = "" if self.sharding is None else f"<@{self.sharding.mesh}, "
        if prefix and has_one_mesh and sharding.startswith(prefix):
            sharding = sharding[len(prefix) : -1]
        name = self.name if self.function in ("", "main") else f"@{self.function}:{self.name}"
        types = (type_text(shape, self.element_type) for shape in (self.shape, self.local_shape))
        size = bytes_text(self.bytes.padded_bytes), f"{self.bytes.waste:.1%}"
        return name, sharding, *types, *size, self.location


@dataclass(frozen=True, slots=True)
class EntryMemory:
    """The memory on each device while an entry function of the program runs.

    constants: of all functions that may run.
    peak: of the padded bytes of values alive at once, with the other bytes of the same moment.
    place: the op at which the peak is, then the one nested in it, and so on; empty: on entry.
    alive: the numbers of the tensors alive at the peak, largest first.
    """

    function: str
    arguments: Total
    results: Total
    constants: Total
    peak: Total
    place: tuple[PeakOp, ...]
    alive: tuple[int, ...]

    def __repr__(self) -> str:
        return shown.short_entry(self)
