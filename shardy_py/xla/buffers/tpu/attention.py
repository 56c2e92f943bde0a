"""Attention as XLA:TPU computes it: kernels instead of products of softmaxes.

    dot(softmax(dot(q, k)), v)  ->  kernel(q, k, v)      nothing of queries by keys is stored
    dot(softmax(s), v)          ->  kernel(s, v)         s is, as that of a product with a scale or a mask

A softmax is exp(s - max s) / sum, along keys. Both numbers are multiples of 128, batch dimensions come first,
and rows of `v` are keys. The first kernel has one or two batch dimensions, queries in rows, and elements of
one type: f32 or bf16; what is between may be f32, and capped: c tanh(s / c). What else reads the softmax
computes it again. A batch of which a device has one element is reshaped, so that nothing is found; what is
one element in the program is dropped before. Source: the pass flash_attention of XLA:TPU, in 100 small
programs that it compiled for v5p.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import (
    BroadcastInDimOp,
    ConvertOp,
    DivideOp,
    DotGeneralOp,
    ExponentialOp,
    MaximumOp,
    MultiplyOp,
    ReduceOp,
    SubtractOp,
    TanhOp,
)
from shardy_py.ops import CALL, TensorType
from shardy_py.ops.custom_calls import KERNEL
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.tpu.records import Records, step_of
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.parts import shape_of
from shardy_py.xla.targets.rounding import Reading, reading

_BLOCK = 128
_MOST_BATCHES = 2
_ELEMENTS = frozenset({"f32", "bf16"})


def with_attention(
    steps: Sequence[PlannedOp], records: Records, is_fixed: Callable[[PlannedOp], bool]
) -> list[PlannedOp]:
    """Returns steps with kernels instead of products that are attention.

    is_fixed: whether something else knows a step, which stays as it is.
    """
    if not any(step.record.name == ExponentialOp.name for step in steps):
        return [*steps]
    search = _Search({name: step for step in steps for name in step.results}, records)
    found: list[PlannedOp] = []
    for step in steps:
        given = None if is_fixed(step) or step.record.name != DotGeneralOp.name else search.inputs(step)
        found += [step] if given is None else _kernel(step, given, records)
    return found


def read_by_kernels(steps: Sequence[PlannedOp]) -> set[Name]:
    """Returns the values that kernels read, and those that only moved give them: they are not rounded."""
    found = set[Name]()
    for step in reversed(steps):
        record = step.record
        is_kernel = record.attributes.get("call_target_name") == KERNEL
        is_read = not found.isdisjoint(step.results) and record.operands and not step.blocks
        if is_kernel or (
            is_read and reading(record, record.operands[0], record.results[0]) is Reading.AS_READ
        ):
            found.update(step.operands)
    return found


class _Input(NamedTuple):
    """is_turned: whether the last two dimensions have to change places."""

    name: Name
    type: TensorType
    is_turned: bool = False


def _kernel(step: PlannedOp, given: Sequence[_Input], records: Records) -> Iterator[PlannedOp]:
    """The call of a kernel; one of three operands makes f32."""
    (made,) = step.record.results
    assert made is not None
    inputs = [*given]
    for i, each in enumerate(given):
        if each.is_turned:
            *batch, rows, columns = each.type.shape
            type_ = TensorType((*batch, columns, rows), each.type.element)
            record = records.transposed(each.type, type_, minor_to_major=(*reversed(range(type_.rank)),))
            inputs[i] = _Input((step.results[0], "turned"), type_)
            yield step_of(record, (each.name,), (inputs[i].name,), step.source)
    types, names = tuple(each.type for each in inputs), tuple(each.name for each in inputs)
    wide = TensorType(made.shape, "f32") if len(inputs) > 2 else made
    is_wide = wide == made
    own: Name = step.results[0] if is_wide else (step.results[0], "kernel")
    call = records.of(CALL, types, (wide,), call_target_name=KERNEL)
    yield step_of(call, names, (own,), step.source)
    if not is_wide:
        yield step_of(records.of(ConvertOp.name, (wide,), (made,)), (own,), step.results, step.source)


class _Softmax(NamedTuple):
    """A softmax along the last dimension. source: what it is of. is_narrowed: whether it is converted."""

    source: Name
    is_narrowed: bool


@dataclass(frozen=True, eq=False)
class _Search:
    """makers: by value the step that makes it."""

    makers: Mapping[Name, PlannedOp]
    records: Records
    found: dict[Name, _Softmax | None] = field(default_factory=dict[Name, "_Softmax | None"])

    def inputs(self, step: PlannedOp) -> Sequence[_Input] | None:
        """The values that the kernel reads which computes a product; None if none does."""
        softmax = self._softmax(step.operands[0])
        if softmax is None:
            return None
        weights, values = self._type(step, 0), self._type(step, 1)
        if weights is None or values is None or not self._is_weighted(step, weights.rank):
            return None
        if any(size % _BLOCK for size in shape_of(weights)[-2:]) or values.element not in _ELEMENTS:
            return None
        whole = self._whole(step, softmax)
        if whole is not None:
            return whole
        scores = self.makers[softmax.source].record.results[0] if softmax.source in self.makers else weights
        if scores is None or softmax.is_narrowed or scores.element != values.element:
            return None
        return _Input(softmax.source, scores), _Input(step.operands[1], values)

    def _is_weighted(self, step: PlannedOp, rank: int) -> bool:
        """True for a product of rows of the first operand and columns of the second, batches first."""
        numbers, batch = DotDimensions.of(step.record.attributes), rank - 2
        if (numbers.contracting[0], numbers.contracting[1]) != ((rank - 1,), (batch,)):
            return False
        return self._has_batches_first(step, rank) and self._has_whole_batches(step, batch)

    def _has_batches_first(self, step: PlannedOp, rank: int) -> bool:
        numbers = DotDimensions.of(step.record.attributes)
        first = tuple(range(rank - 2))
        ranks = [type_ is not None and type_.rank == rank for type_ in step.record.operands]
        return tuple(numbers.batching) == (first, first) and all(ranks)

    def _has_whole_batches(self, step: PlannedOp, batch: int) -> bool:
        """True unless a device has one element of a batch dimension of several."""
        own, program = step.record.results[0], self.records.in_program(step.record).results[0]
        if own is None or program is None or own.rank != program.rank:
            return False
        pairs = zip(shape_of(own)[:batch], shape_of(program)[:batch], strict=True)
        return all(held != 1 or size == 1 for held, size in pairs)

    def _whole(self, step: PlannedOp, softmax: _Softmax) -> Sequence[_Input] | None:
        """The queries, keys and values of attention; None if what is between is more than a product."""
        product = self.makers.get(self._widened(self._capped(softmax.source)))
        if product is None or product.record.name != DotGeneralOp.name:
            return None
        made, queries, keys = product.record.results[0], self._type(product, 0), self._type(product, 1)
        if made is None or queries is None or keys is None or not self._has_batches_first(product, made.rank):
            return None
        numbers, batch = DotDimensions.of(product.record.attributes), made.rank - 2
        if numbers.contracting[0] != (made.rank - 1,) or numbers.contracting[1][0] < batch:
            return None
        if not 1 <= sum(size != 1 for size in shape_of(made)[:batch]) <= _MOST_BATCHES:
            return None
        values = self._narrow(step.operands[1], self._type(step, 1))
        if values is None or not queries.element == keys.element == values.type.element:
            return None
        is_turned = numbers.contracting[1] == (batch,)
        return _Input(product.operands[0], queries), _Input(product.operands[1], keys, is_turned), values

    def _softmax(self, name: Name) -> _Softmax | None:
        if name not in self.found:
            self.found[name] = self._searched(name)
        return self.found[name]

    def _searched(self, name: Name) -> _Softmax | None:
        narrow = self._read(name, ConvertOp.name)
        divided = self._read(narrow[0] if narrow else name, DivideOp.name)
        if divided is None:
            return None
        exponentials, sums = divided
        shifted = self._read(exponentials, ExponentialOp.name)
        pair = self._read(shifted[0], SubtractOp.name) if shifted else None
        if pair is None or self._reduced(sums) != self._widened(exponentials):
            return None
        source, largest = pair
        return (
            _Softmax(source, narrow is not None) if self._reduced(largest) == self._widened(source) else None
        )

    def _reduced(self, name: Name) -> Name | None:
        """The value reduced along its last dimension and broadcast there, before it is converted to f32."""
        spread = self._read(name, BroadcastInDimOp.name)
        if spread is None:
            return None
        # The largest element is also compared with the least number.
        candidates = *spread, *(self._read(spread[0], MaximumOp.name) or ())
        for each in candidates:
            narrow = self._read(each, ConvertOp.name)
            maker = self.makers.get(narrow[0] if narrow else each)
            given = None if maker is None or not maker.record.operands else maker.record.operands[0]
            if maker is None or given is None or maker.record.name != ReduceOp.name:
                continue
            if integers(maker.record.attributes, "dimensions") == (given.rank - 1,):
                return self._widened(maker.operands[0])
        return None

    def _capped(self, name: Name) -> Name:
        """The value that is capped: c tanh(s / c)."""
        outer = self._read(name, MultiplyOp.name)
        for each in outer or ():
            inner = self._read(each, TanhOp.name)
            scaled = inner and (self._read(inner[0], DivideOp.name) or self._read(inner[0], MultiplyOp.name))
            for given in scaled or ():
                if self._read(self._widened(given), DotGeneralOp.name):
                    return given
        return name

    def _widened(self, name: Name) -> Name:
        """A value before it is converted to f32."""
        given = self._read(name, ConvertOp.name)
        return given[0] if given and self._element(name) == "f32" else name

    def _narrow(self, name: Name, type_: TensorType | None) -> _Input | None:
        before = self._widened(name)
        maker = self.makers.get(name)
        if before == name or maker is None:
            return None if type_ is None else _Input(name, type_)
        (given,) = maker.record.operands
        return None if given is None else _Input(before, given)

    def _read(self, name: Name, kind: str) -> tuple[Name, ...] | None:
        """The operands of the op that makes a value; None if it is of another kind."""
        maker = self.makers.get(name)
        return maker.operands if maker is not None and maker.record.name == kind else None

    def _element(self, name: Name) -> str:
        maker = self.makers.get(name)
        made = None if maker is None else maker.record.results[0]
        return "" if made is None else made.element

    def _type(self, step: PlannedOp, operand: int) -> TensorType | None:
        return step.record.operands[operand]
