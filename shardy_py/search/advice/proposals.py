"""The edits to try for a group of collectives: of what is annotated, and constraints where nothing is.

Rewrites of ops first; then in rounds: activations sharded along the batch; shardings of arguments and results
that meet at the op; constraints on the expression of the op and on those that it reads. Not here: trying them
(`adviser.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import MAIN
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.value_table import ValueEntry, ValueTable
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.explain import Side
from shardy_py.search.advice.remedy import Edit, family_name, is_expressible
from shardy_py.search.advice.rewrites import near, rewrite_of
from shardy_py.search.advice.sites import ExpressionSite, Sites, is_backward
from shardy_py.search.advice.variants import batch_variants, fits, variants
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from shardy_py.xla.prepare.explicit_axes import given_by

Proposal = tuple[Edit, ...]
_MOST_SITES = 12
"""The expressions of a remedy that constrains all activations, at most."""


@dataclass(frozen=True)
class Proposer:
    """Proposes edits of one program.

    table: of the source program. final_sharding: of a source value after propagation.
    source_of: the source value of one of the propagated program, None if it has none.
    sides: the annotations that meet at a collective. mesh_name, mesh: of all new shardings.
    has_explicit_axes: whether constraints are types of JAX, of which a user determines some only.
    """

    table: ValueTable
    sites: Sites
    mesh_name: str
    mesh: Mesh
    source_of: Callable[[SSAValue], ValueEntry | None]
    final_sharding: Callable[[ValueEntry], TensorSharding | None]
    sides: Callable[[CollectiveUse], Sequence[Side]]
    has_explicit_axes: bool = False

    def proposals(self, uses: Sequence[CollectiveUse]) -> Iterator[Proposal]:
        """Returns what to try for collectives that are alike, most promising first, each once."""
        use = uses[0]
        axes = self._axes(use)
        annotated = list(self._annotated(use))
        rounds: list[Iterable[Proposal]] = [
            self._batch(use),
            self._arguments(annotated, axes),
            self._results(annotated, axes),
            self._constraints(annotated, axes),
            self._expressions(use, axes),
        ]
        seen: set[tuple[object, ...]] = set()
        yield from self._new(self._rewrites(use), seen)
        yield from self._new(self._all_activations(), seen)
        for column in zip_longest(*rounds):
            yield from self._new((each for each in column if each is not None), seen)

    def placing(self, entry: ValueEntry, dimensions: Sequence[int], axis: str) -> Iterator[Proposal]:
        """Returns what to try for a value to be sharded along an axis, in one of `dimensions`.

        Its own annotation first, then those of arguments that its expression reads.
        """
        shape = _shape(entry)
        given = self.final_sharding(entry) or TensorSharding.fully_closed(self.mesh_name, len(shape))
        if given.mesh != self.mesh_name:
            return
        placed = [each for each in variants(given, shape, self.mesh, [axis]) if _has(each, dimensions, axis)]
        seen: set[tuple[object, ...]] = set()
        if entry.role == "argument" or entry.role == "result":
            family = (entry,) if entry.role == "result" else self._family(entry)
            yield from self._new(((Edit(entry.role, family, each),) for each in placed), seen)
            return
        site = self.sites.of(entry)
        if site is not None and entry in site.values:
            yield from self._new(((Edit("constraint", site.values, each, site),) for each in placed), seen)
        elif entry.op.name == ShardingConstraintOp.name:
            yield from self._new(((Edit("constraint", (entry,), each),) for each in placed), seen)
        read = self.sites.operands(position_of(entry.location))
        yield from self._new(self._arguments([e for e in read if e in self._boundary], [axis]), seen)

    def _new(self, proposals: Iterable[Proposal], seen: set[tuple[object, ...]]) -> Iterator[Proposal]:
        for proposal in proposals:
            key = tuple(edit.key for edit in proposal)
            fit = all(edit.sharding is None or is_expressible(edit.sharding) for edit in proposal)
            if proposal and fit and key not in seen:
                seen.add(key)
                yield proposal

    def _axes(self, use: CollectiveUse) -> list[str]:
        """The axes to change: those of the collective first."""
        own = [name for name, _ in use.axes if name in self.mesh.sizes]
        return own or [axis.name for axis in self.mesh.axes if axis.size > 1]

    def _rewrites(self, use: CollectiveUse) -> Iterator[Proposal]:
        """The op that sends, and those that its operands come from, by others with the same values."""
        for value in () if use.cause.made_for is None else near(use.cause.made_for):
            entry = self.source_of(value)
            rewrite = None if entry is None or entry.value is None else rewrite_of(entry.op)
            if entry is not None and rewrite is not None:
                yield (Edit("rewrite", (entry,), None, rewrite=rewrite),)

    # ------------------------------------------------------------------ the batch

    @cached_property
    def _batches(self) -> tuple[tuple[tuple[AxisRef, ...], int | None], ...]:
        """The axes that shard the first dimension of data, with its size; arguments without results first."""
        returned = {(family_tail(e), e.type) for e in self._boundary if e.role == "result"}
        found: dict[tuple[tuple[AxisRef, ...], int | None], bool] = {}
        for entry in self._boundary:
            sharding, shape = entry.sharding, _shape(entry)
            if entry.role == "argument" and sharding is not None and shape and sharding.dimensions:
                axes = sharding.dimensions[0].axes
                is_data = (family_tail(entry), entry.type) not in returned
                if axes and is_data:
                    found.setdefault((axes, shape[0]), True)
        ranked = sorted(found, key=lambda key: -sum(self._is_first(size) for size in key[1:]))
        return tuple(ranked)[:2]

    def _is_first(self, size: int | None) -> int:
        """The number of products whose result has that first size."""
        return sum((_shape(entry) or (0,))[0] == size for entry in self.table.of_op("dot_general"))

    def _all_activations(self) -> Iterator[Proposal]:
        """Constrains the results of all products over the batch."""
        for batch, size in self._batches:
            edits: list[Edit] = []
            for site in self.sites.products():
                shape = _shape(site.values[0])
                if shape and shape[0] == size and len(shape) > 1:
                    edits += self._batch_edits(site, batch)[:1]
            if edits and len(edits) <= _MOST_SITES:
                yield tuple(edits)

    def _batch_edits(self, site: ExpressionSite, batch: tuple[AxisRef, ...]) -> list[Edit]:
        first, shape = site.values[0], _shape(site.values[0])
        found = batch_variants(self.final_sharding(first), self.mesh_name, shape, self.mesh, batch)
        return [Edit("constraint", site.values, each, site) for each in found]

    def _batch(self, use: CollectiveUse) -> Iterator[Proposal]:
        for site in self._sites(use):
            shape = _shape(site.values[0])
            for batch, size in self._batches:
                if shape and shape[0] == size:
                    yield from ((edit,) for edit in self._batch_edits(site, batch))

    # ------------------------------------------------------------------ arguments and results

    @cached_property
    def _boundary(self) -> tuple[ValueEntry, ...]:
        """The arguments and results of the entry function."""
        name = MAIN if MAIN in self.table.functions else next(iter(self.table.functions), "")
        return tuple(e for e in self.table.entries if e.role != "intermediate" and e.function == name)

    def _family(self, entry: ValueEntry) -> tuple[ValueEntry, ...]:
        """The arguments and results to change with one: of other layers, of its gradient, its new value."""
        tail = family_tail(entry)
        return (
            entry,
            *(
                each
                for each in self._boundary
                if each is not entry
                and each.type == entry.type
                and each.sharding == entry.sharding
                and (each.sharding is not None or each.role == entry.role)
                and tail
                and (tail.endswith(family_tail(each) or "?") or family_tail(each).endswith(tail))
            ),
        )

    def _arguments(self, annotated: Iterable[ValueEntry], axes: Sequence[str]) -> Iterator[Proposal]:
        columns = [
            [
                (Edit("argument", self._family(entry), each),)
                for each in variants(sharding, _shape(entry), self.mesh, axes)
            ]
            for entry in annotated
            if entry.role == "argument" and (sharding := self._sharding(entry)) is not None
        ]
        for column in zip_longest(*columns):
            yield from (each for each in column if each is not None)

    def _results(self, annotated: Iterable[ValueEntry], axes: Sequence[str]) -> Iterator[Proposal]:
        yield from self._results_like_arguments()
        for entry in annotated:
            sharding = entry.sharding
            if entry.role == "result" and sharding is not None:
                family = tuple(each for each in self._family(entry) if each.role == "result")
                yield (Edit("result", family, None),)
                for each in variants(sharding, _shape(entry), self.mesh, axes):
                    yield (Edit("result", family, each),)

    def _results_like_arguments(self) -> Iterator[Proposal]:
        """Gives results without a sharding that of the arguments that they are new values of."""
        edits: list[Edit] = []
        for result in self._boundary:
            if result.role == "result" and result.sharding is None and (tail := family_tail(result)):
                alike = (a for a in self._boundary if a.role == "argument" and a.type == result.type)
                known = [a for a in alike if a.sharding is not None and _named_alike(a, tail)]
                if known and (sharding := known[0].sharding) is not None:
                    edits.append(Edit("result", (result,), sharding))
        by_sharding: dict[TensorSharding | None, list[ValueEntry]] = {}
        for edit in edits:
            by_sharding.setdefault(edit.sharding, []).extend(edit.values)
        yield tuple(Edit("result", tuple(values), key) for key, values in by_sharding.items())

    # ------------------------------------------------------------------ constraints

    def _constraints(self, annotated: Iterable[ValueEntry], axes: Sequence[str]) -> Iterator[Proposal]:
        """Removes or changes constraints of the program, at all places of their line."""
        for entry in annotated:
            if entry.role != "intermediate":
                continue
            place = location_text(entry.location)
            alike = self.table.of_op(ShardingConstraintOp.name)
            values = tuple(e for e in alike if place and location_text(e.location) == place) or (entry,)
            given = given_by(entry.op) if self.has_explicit_axes else None
            if self.has_explicit_axes and (given is None or is_backward(entry.location)):
                continue
            if given != "out_sharding=":  # without it, JAX has to infer another
                yield (Edit("constraint", values, None),)
            sharding = entry.sharding
            if sharding is not None:
                for each in variants(sharding, _shape(entry), self.mesh, axes):
                    yield (Edit("constraint", values, each),)

    def _expressions(self, use: CollectiveUse, axes: Sequence[str]) -> Iterator[Proposal]:
        for site in self._sites(use):
            first = site.values[0]
            sharding = self.final_sharding(first)
            if sharding is None:
                sharding = TensorSharding.fully_closed(self.mesh_name, len(_shape(first)))
            if sharding.mesh == self.mesh_name:
                for each in variants(sharding, _shape(first), self.mesh, axes):
                    yield (Edit("constraint", site.values, each, site),)

    def _sites(self, use: CollectiveUse) -> Iterator[ExpressionSite]:
        """The expression of the op, then those that it reads."""
        place = use.cause.position
        site = self.sites.at(place)
        if site is not None:
            yield site
        elif use.cause.made_for is not None and place is None:
            yield from self._unplaced(use.cause.made_for)
        for entry in self.sites.operands(place):
            if entry.role == "intermediate":
                read = self.sites.of(entry)
                if read is not None and read is not site:
                    yield read

    def _unplaced(self, op: Operation) -> Iterator[ExpressionSite]:
        """The values of an op without a position, each a site of its own."""
        for value in (*op.results, *operands_of(op)):
            entry = self.source_of(value)
            if entry is not None and entry.role == "intermediate" and _shape(entry):
                yield self.sites.alone(entry)

    # ------------------------------------------------------------------ what is annotated

    def _annotated(self, use: CollectiveUse) -> Iterator[ValueEntry]:
        """The annotated values of the source that axes of the op come from, and unannotated operands."""
        found: dict[int, ValueEntry] = {}
        for side in self.sides(use):
            for entry in self._entries(side):
                found.setdefault(id(entry), entry)
        op = use.cause.made_for
        for value in () if op is None else operands_of(op):
            entry = self.source_of(value)
            if entry is not None and entry.role == "argument" and entry in self._boundary:
                found.setdefault(id(entry), entry)
        yield from found.values()

    def _entries(self, side: Side) -> Iterator[ValueEntry]:
        place = side.annotation.place
        for entry in self._boundary:
            if str(entry) == place.name and (not place.label or entry.label == place.label):
                yield entry
                return
        for entry in self.table.of_op(ShardingConstraintOp.name):
            if place.location and location_text(entry.location) == place.location:
                yield entry
                return

    def _sharding(self, entry: ValueEntry) -> TensorSharding | None:
        """Its annotation, or that nothing shards it; None if it cannot have another one."""
        shape = _shape(entry)
        if not shape:
            return None
        sharding = entry.sharding or TensorSharding.fully_closed(self.mesh_name, len(shape))
        if sharding.mesh != self.mesh_name:
            return None
        given = tuple(dimension.axes for dimension in sharding.dimensions)
        return sharding if fits(given, shape, self.mesh) else None


def _has(sharding: TensorSharding, dimensions: Iterable[int], axis: str) -> bool:
    return any(each.name == axis for number in dimensions for each in sharding.dimensions[number].axes)


def family_tail(entry: ValueEntry) -> str:
    """Returns the path of an argument or result in its tree, without the name of the tree and numbers.

    `params[3]['up']` and `result[0][3]['up']` end alike: `[*]['up']`.
    """
    name = family_name(entry.label)
    starts = [place for mark in "[." if (place := name.find(mark)) >= 0]
    return name[min(starts) :] if starts else ""


def _named_alike(argument: ValueEntry, tail: str) -> bool:
    own = family_tail(argument)
    return bool(own) and (tail.endswith(own) or own.endswith(tail))


def _shape(entry: ValueEntry) -> tuple[int | None, ...]:
    type_ = tensor_type(entry.type)
    return () if type_ is None else type_.shape
