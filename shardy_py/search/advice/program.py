"""The program that edits are proposed for: what is annotated, which arguments belong together, the batch.

Not here: what is asked of it (`question.py`), the edits (`kinds/`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.module_paths import is_parameter
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import MAIN
from shardy_py.mlir.value_table import ValueEntry, ValueTable
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.explain import Side
from shardy_py.report.verdict import family_name
from shardy_py.search.advice.sites import Sites
from shardy_py.search.advice.variants import Shape, fits
from shardy_py.sharding import AxisRef, Mesh, TensorSharding

if TYPE_CHECKING:
    from shardy_py.search.advice.torch_layers import TorchLayer

Batch = tuple[tuple[AxisRef, ...], int | None]
"""The axes that shard the first dimension of data, and its size."""
_MOST_BATCHES = 2
"""Data and labels, or two inputs: arguments beyond those seldom have a batch of their own."""


@dataclass(frozen=True)
class AdvisedProgram:
    """A source program with what its propagation tells.

    table: of the source program. mesh_name, mesh: of all new shardings.
    source_of: the source value of one of the propagated program, None if it has none.
    final_sharding: of a source value after propagation.
    sides: the annotations that meet at a collective.
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

    @cached_property
    def boundary(self) -> tuple[ValueEntry, ...]:
        """The arguments and results of the entry function."""
        name = MAIN if MAIN in self.table.functions else next(iter(self.table.functions), "")
        return tuple(e for e in self.table.entries if e.role != "intermediate" and e.function == name)

    @cached_property
    def torch_layers(self) -> Mapping[str, TorchLayer]:
        """The layers of a model of PyTorch, by path."""
        function = next((entry.op for entry in self.boundary if entry.role == "argument"), None)
        if function is None:
            return {}
        from shardy_py.search.advice.torch_held import layers_in

        return layers_in(function)

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """The batches of arguments that are data: those that no result is a new value of.

        That of most products first.
        """
        returned = {(family_tail(e), e.type) for e in self.boundary if e.role == "result"}
        found: dict[Batch, int] = {}
        for entry in self.boundary:
            sharding, shape = entry.sharding, shape_of(entry)
            is_data = entry.role == "argument" and (family_tail(entry), entry.type) not in returned
            axes = sharding.dimensions[0].axes if sharding is not None and sharding.dimensions else ()
            if is_data and shape and axes:
                found.setdefault((axes, shape[0]), self._products_by_size[shape[0]])
        return tuple(sorted(found, key=lambda batch: -found[batch])[:_MOST_BATCHES])

    @cached_property
    def _products_by_size(self) -> Counter[int | None]:
        """The number of products by the first size of their results."""
        return Counter((shape_of(entry) or (0,))[0] for entry in self.table.of_op("dot_general"))

    def family(self, entry: ValueEntry) -> tuple[ValueEntry, ...]:
        """Returns the arguments and results to change with one: its gradient, those of other layers."""
        return (entry, *(e for e in self.alike(entry) if e is not entry and _is_related(entry, e)))

    def alike(self, entry: ValueEntry) -> Iterator[ValueEntry]:
        """Returns the arguments and results of its type whose paths end like its own."""
        tails = self._boundary_of_type.get(entry.type)
        return iter(() if tails is None else tails.alike(family_tail(entry)))

    @cached_property
    def _boundary_of_type(self) -> dict[Attribute, Tails]:
        """The arguments and results by their `family_tail`, by type."""
        found: dict[Attribute, list[tuple[str, ValueEntry]]] = {}
        for entry in self.boundary:
            found.setdefault(entry.type, []).append((family_tail(entry), entry))
        return {type_: Tails(named) for type_, named in found.items()}

    def sharding(self, entry: ValueEntry) -> TensorSharding | None:
        """Returns its annotation, or that nothing shards it; None if it cannot have another one."""
        shape = shape_of(entry)
        if not shape:
            return None
        sharding = entry.sharding or TensorSharding.fully_closed(self.mesh_name, len(shape))
        if sharding.mesh != self.mesh_name:
            return None
        given = tuple(dimension.axes for dimension in sharding.dimensions)
        return sharding if fits(given, shape, self.mesh) else None

    def propagated(self, entry: ValueEntry) -> TensorSharding | None:
        """Returns its sharding after propagation, or that nothing shards it; None on another mesh."""
        found = self.final_sharding(entry)
        if found is None:
            found = TensorSharding.fully_closed(self.mesh_name, len(shape_of(entry)))
        return found if found.mesh == self.mesh_name else None

    def annotated_at(self, side: Side) -> ValueEntry | None:
        """Returns the value whose annotation a side names: of the boundary, or a constraint."""
        place = side.annotation.place
        named = (e for e in self.boundary if str(e) == place.name and place.label in ("", e.label))
        return next(named, None) or next(iter(self.constraints_at(place.location)), None)

    def constraints_at(self, location: str) -> Iterator[ValueEntry]:
        """Returns the constraints of the program at a location: those of all layers."""
        alike = self.table.of_op(ShardingConstraintOp.name)
        return (each for each in alike if location and location_text(each.location) == location)


def _is_related(entry: ValueEntry, other: ValueEntry) -> bool:
    """Returns whether the sharding of one of the same family changes with that of a value."""
    is_given = other.sharding is not None or other.role == entry.role
    return is_given and other.sharding == entry.sharding


def named_alike(first: str, second: str) -> bool:
    """Returns whether paths of `family_tail` end alike: `['up']` and `[*]['up']`."""
    return bool(first and second) and (first.endswith(second) or second.endswith(first))


class Tails:
    """Values by their paths, which are found from the end: not by a look at each value of a large model."""

    def __init__(self, named: Iterable[tuple[str, ValueEntry]]) -> None:
        """Values with their paths, in program order."""
        self._places: dict[str, list[tuple[int, ValueEntry]]] = {}
        for place, (tail, entry) in enumerate(named):
            self._places.setdefault(tail[::-1], []).append((place, entry))
        self._ordered = sorted(self._places)

    def alike(self, tail: str) -> list[ValueEntry]:
        """Returns the values whose paths end alike, `named_alike`, in program order."""
        if not tail:
            return []
        own = tail[::-1]
        shorter = (own[:size] for size in range(1, len(own)) if own[:size] in self._places)
        longer = map(self._ordered.__getitem__, range(bisect_left(self._ordered, own), len(self._ordered)))
        found = [*shorter, *takewhile(lambda each: each.startswith(own), longer)]
        placed = sorted((pair for name in found for pair in self._places[name]), key=_place)
        return [entry for _, entry in placed]


def _place(placed: tuple[int, ValueEntry]) -> int:
    return placed[0]


def family_tail(entry: ValueEntry) -> str:
    """Returns the path of an argument or result in its tree, without the name of the tree and numbers.

    `params[3]['up']` and `result[0][3]['up']` end alike: `[*]['up']`. The name of a parameter of torch is
    whole; what has the name of one in it, as a state, follows that one, and has none: "".
    """
    name = family_name(entry.label)
    if is_parameter(entry.label):
        return name
    if any(map(is_parameter, entry.label.split(" "))):
        return ""
    starts = [place for mark in "[." if (place := name.find(mark)) >= 0]
    return name[min(starts) :] if starts else ""


def shape_of(entry: ValueEntry) -> Shape:
    """Returns the sizes of a tensor; () for others."""
    type_ = tensor_type(entry.type)
    return () if type_ is None else type_.shape


def of_role(entries: Iterable[ValueEntry], role: str) -> tuple[ValueEntry, ...]:
    """Returns the arguments, results or values inside among some."""
    return tuple(entry for entry in entries if entry.role == role)
