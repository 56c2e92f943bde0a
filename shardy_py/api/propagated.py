"""The data of results of propagation, and their values by name, or as values of the source.

    result["result 0"].sharding, result.copies(program["%c"])

Not here: what is computed from a result, its reports (`result.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from shardy_py.api.arguments import expect
from shardy_py.api.program import Program
from shardy_py.api.values import Value, Values
from shardy_py.api.verified_module import ValueKey
from shardy_py.base import releases
from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.passes.pipeline_options import PropagationPipelineOptions
from shardy_py.propagation.graph.run_record import Lineage, Record
from shardy_py.sharding import DeviceSlices

if TYPE_CHECKING:
    from shardy_py.api.result import Result

_COPIES_SHOWN = 8


@releases.following
@dataclass(frozen=True, eq=False, repr=False)
class Propagated:
    """A propagated program with the one it was made from.

    program: with all shardings. source: before propagation. warnings: those of the passes.
    again: propagates another program with the same options, and a record unless `record=False`; a copy of it
        unless `in_place=True`.
    record: the changes of shardings by the passes; None if it was not requested.
    options: of propagation; None: the program was not propagated here.
    """

    program: Program
    source: Program
    warnings: tuple[Diagnostic, ...]
    again: Callable[..., Result]
    record: Record | None = None
    options: PropagationPipelineOptions | None = None

    @property
    def release(self) -> releases.Release:
        """The release of JAX whose Shardy propagated it, and whose XLA is forecast."""
        return self.program.release

    @property
    def values(self) -> Values:
        """The values of the propagated program."""
        return self.program.values

    def __getitem__(self, key: ValueKey) -> Value:
        """Returns a value of the propagated program: by its name there, or for a value of the source.

        Raises:
            ShardyError: unknown value, or one whose `copies` have different shardings.
        """
        if not isinstance(key, Value) or key in self.program:
            return self.program.find(key)
        copies = self.copies(key)
        if not copies:
            what = f"{key!r} is not in the propagated program"
            raise ShardyError(f"{what}: it is unused, or it was merged with an equivalent reshard")
        if len({copy.sharding for copy in copies}) > 1:
            listed = [f"{copy} {copy.sharding or 'without sharding'}" for copy in copies[:_COPIES_SHOWN]]
            more = f" and {len(copies) - _COPIES_SHOWN} more" if len(copies) > _COPIES_SHOWN else ""
            fact = f"{key!r} has {len(copies)} copies with different shardings in the propagated program"
            remedy = "look one up by its name, or use result.copies(value)"
            raise ShardyError(f"{fact}: {', '.join(listed)}{more}; {remedy}")
        return copies[0]

    def copies(self, value: Value) -> tuple[Value, ...]:
        """Returns the values of the propagated program that a value of the source became, in program order.

        Usually one; none if it is unused. Constants, and values computed from constants only, are copied for
        every user; copies with equal shardings are merged. The same holds for functions called several times.

        Raises:
            ShardyError: the value belongs to another program.
        """
        expect(value, Value, "a Value of the source program", "result.source[...] finds them by name")
        if value in self.program:
            return (value,)
        return tuple(self.values[place] for place in sorted(set(self.copy_numbers(value))))

    def copy_numbers(self, value: Value) -> Sequence[int]:
        """Returns the positions in `values` of the copies of a source value, one a use, in a fixed order."""
        return self._lineage.counterparts(self.source.find(value).entry)

    @cached_property
    def _lineage(self) -> Lineage:
        if self.record is None:  # propagation with a record gives the same values
            return self.again(self.source)._lineage
        return Lineage(self.source.values.table, self.values.table, self.program.origin, self.record.events)

    def __repr__(self) -> str:
        return repr(self.program).replace("Program", "Result", 1)

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Returns the propagated program as MLIR prints it."""
        return self.program.text()

    def device_slices(self, key: ValueKey) -> DeviceSlices:
        """Returns the slice of each device in the global tensor.

        Raises:
            ShardyError: the value has a dynamic size or no sharding, or is not a tensor.
        """
        value = self[key]
        shape, sharding = value.shape, value.sharding
        if shape is None or None in shape:
            type_ = str(value.entry.type)
            raise ShardyError.unexpected(str(value), expected="a tensor of static shape", got=type_)
        if sharding is None:
            raise ShardyError(f"{value} has no sharding: every device holds the whole tensor")
        return sharding.device_slices(tuple(size for size in shape if size is not None))
