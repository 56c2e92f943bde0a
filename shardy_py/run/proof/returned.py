"""The results of both programs, side by side: compared also where nothing is known of how it was computed.

Not here: which elements are wrong, which depends on the arithmetic (`proving.py`, `exact.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.op_errors import place_of
from shardy_py.ops.compute import Array
from shardy_py.run.interpret.values import Value, is_array
from shardy_py.run.proof.answer import ValueFault
from shardy_py.run.proof.case import Case, results_of
from shardy_py.run.proof.shards import Shards


@dataclass(frozen=True, slots=True, eq=False)
class ResultPair:
    """A result: its number, the value of the whole program, and how it is sharded.

    whole: of the whole program, in one lane. local: of all devices.
    """

    number: int
    source: SSAValue
    case: Case
    shards: Shards
    whole: Array
    local: Array

    @property
    def has_its_shape(self) -> bool:
        """True if devices return the shape that the sharding says."""
        return self.local.shape[1:] == self.shards.local_shape

    def wrong_shape(self) -> ValueFault:
        """The fault of another shape."""
        shapes = str(list(self.shards.local_shape)), str(list(self.local.shape[1:]))
        return self.fault("another shape than its type", None, None, None, shapes)

    def fault(
        self,
        fact: str,
        device: int | None,
        index: tuple[int, ...] | None,
        whole_index: tuple[int, ...] | None,
        texts: tuple[str, str],
    ) -> ValueFault:
        """A fault of the result. texts: what is expected, and what was computed."""
        place = place_of(self.source.op) if isinstance(self.source, OpResult) else None
        source = self.case.sources.get(self.source, self.source)
        name = f"result {self.number}"
        return ValueFault(name, place, fact, device, index, whole_index, 0, *texts, source=source)


def returned(
    case: Case, outputs: Sequence[Shards | None], wholes: Sequence[Value], local: Sequence[Value]
) -> Iterator[ResultPair]:
    """Returns the results that are arrays of known sharding. outputs: the parts of all results."""
    values = results_of(case.whole)
    for number, (whole, made, shards) in enumerate(zip(wholes, local, outputs, strict=True)):
        if shards is not None and is_array(whole) and is_array(made):
            yield ResultPair(number, values[number], case, shards, whole, made)
