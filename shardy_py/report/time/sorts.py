"""The time of a sort on a GPU: by digits, of CUB, or by exchanges of pairs, of XLA.

CUB sorts one or two operands along the last dimension, of sizes at which XLA found it faster. It moves all
elements once for each digit. Others are exchanged pair by pair in log n (log n + 1) / 2 stages: in memory of
a multiprocessor, and pairs that are far from each other in the memory of the device. Source: openxla/xla,
xla/service/gpu/transforms/sort_rewriter.cc, xla/backends/gpu/codegen/emitters/sort.cc.

>>> Sort(rows=4096, size=4096, key=4, width=8, operands=2).stages
78
>>> Sort(1, 1 << 20, 4, 8, 2).is_by_digits, Sort(4096, 4096, 4, 8, 2).is_by_digits
(True, False)
"""

from __future__ import annotations

from math import ceil, inf, prod

from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.custom_calls import TOP_K
from shardy_py.report.time.local_work import known_work
from shardy_py.xla.targets.gpu.graph import GpuGraph
from shardy_py.xla.targets.parts import bits

_PAIR = 34
"""The instructions of a stage for a pair of elements with places, in the PTX that XLA writes."""
_TILE = 4096
"""The elements that a block sorts: four of each of 1,024 threads."""
_FASTER: dict[int, tuple[tuple[int, float, int], ...]] = {
    1: ((1, 1, 0), (9, inf, 1300), (2, inf, 1300)),
    2: (
        *((1, 1, 1 << 9), (13, inf, 1 << 16), (15, inf, 1 << 15), (17, inf, 1 << 14)),
        *((19, inf, 1 << 13), (34, inf, 1 << 12), (67, inf, 1 << 11)),
    ),
    4: (
        *((1, 1, 22000), (27, inf, 1 << 17), (32, inf, 1 << 16), (39, inf, 1 << 15)),
        *((45, inf, 1 << 14), (53, inf, 1 << 13), (89, 132, 1 << 12)),
    ),
    8: (
        *((1, 1, 1 << 17), (56, inf, 1 << 17), (71, inf, 1 << 16), (93, inf, 1 << 15)),
        *((161, 264, 1 << 14), (355, inf, 1 << 14)),
    ),
}
"""By bytes of a key: from how many rows to how many, and above which size, XLA sorts by digits on Hopper."""
_MOST_CHOSEN = 16
"""The largest elements that a kernel of their own finds; more are sorted. Source: openxla/xla,
xla/backends/gpu/transforms/topk_specializer.cc."""
_PLACE = 4
"""The bytes of the place of an element."""
_DIGIT, _DIGIT_OF_ROWS = 8, 6
"""Bits of a digit: of one row, of several."""


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of rows. size: of a row. key, width: bytes of a key, and of all operands and places."""

    rows: int
    size: int
    key: int
    width: int
    operands: int
    is_last: bool = True

    @property
    def is_by_digits(self) -> bool:
        """True if CUB sorts."""
        if not self.is_last or self.operands > 2:
            return False
        return any(
            least <= self.rows <= most and self.size > above
            for least, most, above in _FASTER.get(self.key, ())
        )

    @property
    def stages(self) -> int:
        """The stages of exchanges."""
        levels = max(self.size - 1, 0).bit_length()
        return levels * (levels + 1) // 2

    @property
    def passes(self) -> int:
        """How often all elements are read from the memory of the device and written."""
        if self.is_by_digits:
            return ceil(8 * self.key / (_DIGIT if self.rows == 1 else _DIGIT_OF_ROWS))
        far = max(0, max(self.size - 1, 0).bit_length() - (_TILE - 1).bit_length())
        return 1 + sum(ceil(level / 2) + 1 for level in range(1, far + 1))  # a kernel has two far stages

    @property
    def moved(self) -> float:
        """The bytes that are read and written: digits are counted first."""
        elements = self.rows * self.size
        counted = 0
        if self.is_by_digits:
            counted = self.key * (1 if self.rows == 1 else self.passes)
        return float(elements * (2 * self.width * self.passes + counted))

    def exchanged(self, lanes: float, cores: int) -> float:
        """The seconds of exchanges. lanes: instructions per second of each of the multiprocessors."""
        if self.is_by_digits or self.size < 2:
            return 0.0
        padded = 1 << (self.size - 1).bit_length()
        pairs = self.rows * padded / 2 * self.stages
        busy = min(self.rows * ceil(padded / _TILE), cores)
        return pairs * _PAIR / (lanes * max(busy, 1))


def sort_of(graph: GpuGraph, number: int) -> Sort | None:
    """Returns the sort that an op is, on one device; None for others."""
    step = graph.step(number)
    types = [graph.types[each] for each in graph.reads[number]]
    given = [type_ for type_ in types if type_ is not None]
    if step is None or not given or not given[0].rank:
        return None
    record = step.record
    is_largest = record.attributes.get("call_target_name") == TOP_K and _chosen(record) > _MOST_CHOSEN
    if not is_largest and not known_work(record).is_sort:
        return None
    rank = given[0].rank
    dimension = rank - 1 if is_largest else int(record.attributes.get("dimension", rank - 1)) % rank
    size = given[0].shape[dimension] or 0
    widths = [_bytes(type_) for type_ in given]
    if len(widths) == 1:
        widths.append(_PLACE)  # equal elements keep their order
    rows = prod(size or 0 for size in given[0].shape) // max(size, 1)
    return Sort(rows, size, widths[0], sum(widths), len(widths), dimension == rank - 1)


def _bytes(type_: TensorType) -> int:
    return ceil(bits(type_) / 8)


def _chosen(record: OpRecord) -> int:
    made = record.results[0]
    return 0 if made is None or not made.rank else made.shape[-1] or 0
