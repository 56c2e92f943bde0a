"""Programs as XLA:GPU and XLA:TPU simplify them before they partition them, unlike XLA:CPU.

    transpose(dot(a, b))  ->  dot(b, a)        reduce(reduce(x))  ->  reduce(x)        top_k  ->  TopK
    on GPUs: gather(x, (iota, i))  ->  gather(x, i) in batches
    on TPUs: dot(a, transpose(b))  ->  dot(a, b), along other dimensions of b
             sort(a) in which equal elements keep their order  ->  sort(a, places of its elements)

What is sent follows: parts of a gradient are scattered along another dimension, and sums of sums are summed
among devices once. Source: openxla/xla, `HandleTranspose` and `HandleReduce` in
xla/hlo/transforms/simplifiers/algebraic_simplifier.cc, topk_rewriter.cc there. Shardings are those that were
propagated before. Not here: what is simplified after the partitioner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from operator import is_

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ReshardOp
from shardy_py.mlir.dialects.stablehlo import ReshapeOp
from shardy_py.mlir.dialects.traits import is_constant
from shardy_py.mlir.record import combiners_of
from shardy_py.ops import TABLE, Control, OpRecord, TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.prepare.selection_sorts import selects_few
from shardy_py.xla.spmd.arg_reductions import finds_places, is_found_by
from shardy_py.xla.spmd.from_program import source_op
from shardy_py.xla.spmd.program import Block, Name, PlannedOp, edited, reads_of, used
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.targets.cumulative import in_rows
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.numbered_rows import in_batches
from shardy_py.xla.targets.padded_joins import with_padded_joins
from shardy_py.xla.targets.repeated import without_repetition
from shardy_py.xla.targets.reversed_kernels import with_reversed_window
from shardy_py.xla.targets.selections import called, sorted_selection
from shardy_py.xla.targets.stable_sorts import sorted_with_places

_NUMBERS = "dot_dimension_numbers"


def simplified(block: Block) -> Block:
    """The block of a program as XLA:GPU simplifies it; the same one if nothing changes."""
    return _Simplifier(_BY_GPU, Counter(used(block))).block(block)


def without_transpositions(block: Block) -> Block:
    """The block of a program as XLA:TPU simplifies it: calls of `TopK`, no transpositions before products."""
    once = without_repetition(block)
    return with_padded_joins(_Simplifier(_BY_TPU, Counter(used(once)), selects_few).block(once))


@dataclass
class _Simplifier:
    """changes: by the form of an op what replaces it, if anything does.

    uses, returned: how often values are used, also as the result of a block, and how often as that.
    records: those that were made, by what they are made from, so that equal steps are planned once.
    makers: by value the step that makes it; own: those of the computation that is simplified, as HLO has it.
    places: by value the reduction that finds the place of one of its elements. arguments: of blocks, with
    their tilings.
    """

    changes: Mapping[NodeForm, Callable[[_Simplifier, PlannedOp], Sequence[PlannedOp]]]
    uses: Mapping[Name, int]
    calls: Callable[[OpRecord], bool] = lambda _: True
    records: dict[tuple[int, object], tuple[OpRecord, OpRecord]] = field(
        default_factory=dict[tuple[int, object], tuple[OpRecord, OpRecord]]
    )
    makers: dict[Name, PlannedOp] = field(default_factory=dict[Name, PlannedOp])
    own: dict[Name, PlannedOp] = field(default_factory=dict[Name, PlannedOp])
    places: dict[Name, PlannedOp] = field(default_factory=dict[Name, PlannedOp])
    returned: Counter[Name] = field(default_factory=Counter[Name])
    arguments: dict[Name, Tiling | None] = field(default_factory=dict[Name, "Tiling | None"])

    def block(self, block: Block) -> Block:
        """The block simplified, and those inside."""
        self.returned.update(block.results)
        self.arguments |= {value.name: value.tiling for value in block.arguments}
        steps: list[PlannedOp] = []
        forms = {step.record.name: COMPILED.of(step.record.name).form for step in block.steps}
        changed = {name for name, form in forms.items() if form in self.changes}
        makers, own = self.makers, self.own
        for step in block.steps:
            if not step.blocks and step.record.name not in changed:
                steps.append(step)
                for name in step.results:
                    makers[name] = own[name] = step
                continue
            for new in (self._inside(step),) if step.blocks else self._step(step):
                steps.append(new)
                made = dict.fromkeys(new.results, new)
                makers.update(made)
                own.update(made)
        if len(steps) == len(block.steps) and all(map(is_, steps, block.steps)):
            return block
        return replace(block, steps=_needed(block, steps, self.uses))

    def _inside(self, step: PlannedOp) -> PlannedOp:
        around = self.own
        if TABLE[step.record.name].control in (Control.BRANCHES, Control.LOOP):
            self.own = {}
        blocks = tuple([self.block(each) for each in step.blocks])
        self.own = around
        if all(new is old for new, old in zip(blocks, step.blocks, strict=True)):
            return step
        return edited(step, blocks=blocks)

    def _step(self, step: PlannedOp) -> Sequence[PlannedOp]:
        change = self.changes.get(COMPILED.of(step.record.name).form)
        return (step,) if change is None else change(self, step) or (step,)

    def transposed(self, step: PlannedOp) -> Sequence[PlannedOp]:
        """A product in place of the transposition of one that is used once."""
        product = self.makers.get(step.operands[0])
        if product is None or _NUMBERS not in product.record.attributes or self.uses[step.operands[0]] != 1:
            return ()
        order: tuple[int, ...] = step.record.attributes["permutation"]
        made = self._record(product.record, order, lambda: _swapped(product.record, order, step.record))
        if made is None:
            return ()
        operands = product.operands[::-1]
        return (edited(product, made, operands=operands, results=step.results, targets=step.targets),)

    def reduced(self, step: PlannedOp) -> Sequence[PlannedOp]:
        """A reduction of what another one of the same kind reduces, also through a reshape of its result."""
        if finds_places(step):
            self.places[step.operands[0]] = step
        if len(step.operands) != 2:
            return ()
        other = self.places.get(step.operands[0])
        if other is not None and other.results[0] in self.own and is_found_by(step, other):
            type_ = step.record.results[0]
            made = self._record(step.record, "found", lambda: OpRecord(ReshapeOp.name, (type_,), (type_,)))
            return (edited(step, made, operands=other.results[:1]),)
        inner, dimensions = self.makers.get(step.operands[0]), _dimensions(step.record)
        while inner is not None and (kept := _unreshaped(inner, dimensions)) is not None:
            dimensions = kept
            inner = self.makers.get(inner.operands[0])
        if inner is None or not self._is_alike(step, inner):
            return ()
        before = _dimensions(inner.record)
        rank = len(_shape(inner.record.operands[0]))
        left = [i for i in range(rank) if i not in before]
        both = tuple(sorted((*before, *(left[i] for i in dimensions))))
        key = ("reduce", id(step.record), both)
        made = self._record(inner.record, key, lambda: _reducing(inner.record, step.record, both))
        assert made is not None
        return (edited(step, made, operands=inner.operands),)

    def unfolded(self, step: PlannedOp) -> Sequence[PlannedOp]:
        """A product of matrices that its operands transpose."""
        if len(step.operands) != len(step.record.operands):
            return ()
        found = [self._untransposed(name) for name in step.operands]
        if found == [None, None]:
            return ()
        types = tuple(
            type_ if before is None else before.record.operands[0]
            for type_, before in zip(step.record.operands, found, strict=True)
        )
        orders = tuple(
            None if before is None else before.record.attributes["permutation"] for before in found
        )
        made = self._record(step.record, (orders, types), lambda: _folded(step.record, orders, types))
        if made is None:
            return ()
        pairs = zip(step.operands, found, strict=True)
        names = tuple(name if before is None else before.operands[0] for name, before in pairs)
        return (edited(step, made, operands=names),)

    def _tiling(self, name: Name) -> Tiling | None:
        maker = self.makers.get(name)
        return self.arguments.get(name) if maker is None else maker.targets[maker.results.index(name)]

    def _untransposed(self, name: Name) -> PlannedOp | None:
        maker = self.makers.get(name)
        is_transposition = maker is not None and COMPILED.of(maker.record.name).form is NodeForm.TRANSPOSE
        return maker if is_transposition else None

    def selected(self, step: PlannedOp) -> Sequence[PlannedOp]:
        """A call of `TopK`, through which shardings do not propagate: only from what uses its values.

        The compilers take the places for zeros where rows are sharded: no device sends them.
        """
        if not self.calls(step.record):
            return sorted_selection(step, self._tiling(step.operands[0]), self._record)
        made = self._record(step.record, "TopK", lambda: called(step.record))
        if made is None:
            return ()
        values, places = step.results
        whole = Tiling.replicated(len(_shape(made.results[0])), _devices(step))
        target = whole if self.uses[values] == self.returned[values] else step.targets[0]
        of_values = OpRecord(ReshardOp.name, made.results, step.record.results[1:])
        found = self._record(step.record, "places", lambda: of_values)
        call = edited(step, made, results=(values,), targets=(target,))
        return call, edited(step, found, operands=(values,), results=(places,), targets=step.targets[1:])

    def batched(self, step: PlannedOp) -> Sequence[PlannedOp]:
        """A gather or scatter in batches where its indices number the rows."""
        return in_batches(step, self.own, self._record)

    def turned(self, step: PlannedOp) -> Sequence[PlannedOp]:
        """A convolution of a kernel before it was reversed."""
        return with_reversed_window(step, self.makers.get(step.operands[1]), self._record)

    def cumulated(self, step: PlannedOp) -> Sequence[PlannedOp]:
        """A cumulative reduction as those of rows."""
        op = source_op(step)
        found = () if op is None else combiners_of(op)
        return in_rows(step, found[0]) if len(found) == 1 else ()

    def numbered(self, step: PlannedOp) -> Sequence[PlannedOp]:
        """A sort that also sorts the places of elements."""
        return sorted_with_places(step, self.makers, self._record)

    def _is_alike(self, step: PlannedOp, inner: PlannedOp) -> bool:
        """True if both reductions combine values by one op, from one value."""
        if inner.record.name != step.record.name or len(inner.operands) != 2:
            return False
        starts = [self._constant(each.operands[1]) for each in (step, inner)]
        if step.operands[1] != inner.operands[1] and (starts[0] is None or starts[0] != starts[1]):
            return False
        ops = source_op(step), source_op(inner)
        if ops[0] is None or ops[1] is None:
            return False
        combined = combiners_of(ops[0])
        return combined == combiners_of(ops[1]) and combined[0] is not None

    def _constant(self, name: Name) -> object:
        """The value of a constant; None for other values."""
        op = source_op(self.makers.get(name))
        return op.properties.get("value") if op is not None and is_constant(op) else None

    def _record(self, record: OpRecord, key: object, make: Callable[[], OpRecord | None]) -> OpRecord | None:
        known = self.records.get((id(record), key))
        if known is None:
            made = make()
            if made is None:
                return None
            known = self.records[id(record), key] = record, made
        return known[1]


_BY_TPU = {
    NodeForm.LARGEST: _Simplifier.selected,
    NodeForm.TRANSPOSE: _Simplifier.transposed,
    NodeForm.PRODUCT: _Simplifier.unfolded,
    NodeForm.REDUCE: _Simplifier.reduced,
    NodeForm.SORT: _Simplifier.numbered,
    NodeForm.CONVOLUTION: _Simplifier.turned,
    NodeForm.WINDOW: _Simplifier.cumulated,
}
_BY_GPU = {
    NodeForm.GATHER: _Simplifier.batched,
    NodeForm.SCATTER: _Simplifier.batched,
    NodeForm.LARGEST: _Simplifier.selected,
    NodeForm.TRANSPOSE: _Simplifier.transposed,
    NodeForm.REDUCE: _Simplifier.reduced,
}


def _needed(block: Block, steps: Iterable[PlannedOp], before: Mapping[Name, int]) -> tuple[PlannedOp, ...]:
    """The steps without those whose results nothing uses any more. before: what was used."""
    live = set[Name](block.results)
    kept: list[PlannedOp] = []
    for step in reversed([*steps]):
        if live.isdisjoint(step.results) and any(name in before for name in step.results):
            continue
        kept.append(step)
        live.update(reads_of(step))
    return tuple(reversed(kept))


def _swapped(product: OpRecord, order: tuple[int, ...], transpose: OpRecord) -> OpRecord | None:
    """The product with its operands exchanged, if that only puts its free dimensions in this order."""
    numbers = DotDimensions.of(product.attributes)
    (batch, other_batch), contracting = numbers.batching, numbers.contracting
    count = len(batch)
    free = [
        len(_shape(type_)) - count - len(own)
        for type_, own in zip(product.operands, contracting, strict=True)
    ]
    expected = (*range(count + free[0], len(order)), *range(count, count + free[0]))
    if sorted(order[:count]) != [*range(count)] or order[count:] != expected:
        return None
    attributes = {
        **product.attributes,
        _NUMBERS: {
            "lhs_batching_dimensions": tuple(other_batch[i] for i in order[:count]),
            "rhs_batching_dimensions": tuple(batch[i] for i in order[:count]),
            "lhs_contracting_dimensions": contracting[1],
            "rhs_contracting_dimensions": contracting[0],
        },
    }
    if precision := product.attributes.get("precision_config"):
        attributes["precision_config"] = tuple(reversed(precision))
    return replace(product, operands=product.operands[::-1], results=transpose.results, attributes=attributes)


def _folded(
    product: OpRecord, orders: tuple[tuple[int, ...] | None, ...], types: tuple[TensorType | None, ...]
) -> OpRecord | None:
    """The product of operands before they were transposed; None if one is not a matrix, in batches that stay.

    orders: by operand the permutation of its dimensions, None for those that are not transposed.
    """
    numbers = DotDimensions.of(product.attributes)
    attributes: dict[str, tuple[int, ...]] = {}
    for side, order, type_, batch, contracting in zip(
        ("lhs", "rhs"), orders, types, numbers.batching, numbers.contracting, strict=True
    ):
        before = order or tuple(range(len(_shape(type_))))
        free = [i for i in range(len(before)) if i not in batch and i not in contracting]
        if order is not None and not (
            len(free) == len(contracting) == 1 and all(before[i] == i for i in batch)
        ):
            return None
        attributes[f"{side}_batching_dimensions"] = tuple(before[i] for i in batch)
        attributes[f"{side}_contracting_dimensions"] = tuple(before[i] for i in contracting)
    return replace(product, operands=types, attributes={**product.attributes, _NUMBERS: attributes})


def _dimensions(reduction: OpRecord) -> tuple[int, ...]:
    return tuple(reduction.attributes["dimensions"])


def _unreshaped(step: PlannedOp, dimensions: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dimensions that are reduced of a reshape's operand, if it only adds ones that are reduced.

    None for other ops, and other reshapes.
    """
    form = COMPILED.of(step.record.name).form
    if form not in (NodeForm.RESHAPE, NodeForm.BROADCAST):
        return None
    held, made = _shape(step.record.operands[0]), _shape(step.record.results[0])
    added = [i for i in dimensions if made[i] == 1]
    left = [i for i in range(len(made)) if i not in added]
    if [made[i] for i in left] != list(held):
        return None
    if form is NodeForm.BROADCAST and tuple(left) != tuple(step.record.attributes["broadcast_dimensions"]):
        return None
    return tuple(left.index(i) for i in dimensions if i not in added)


def _reducing(inner: OpRecord, outer: OpRecord, dimensions: tuple[int, ...]) -> OpRecord:
    """The reduction of what `inner` reduces to what `outer` makes."""
    return replace(inner, results=outer.results, attributes={**inner.attributes, "dimensions": dimensions})


def _devices(step: PlannedOp) -> int:
    return max(target.device_count for target in step.targets if target is not None)


def _shape(type_: TensorType | None) -> tuple[int, ...]:
    return () if type_ is None else tuple(size or 0 for size in type_.shape)
