"""What the user wrote, taken away again: does an explanation name what really holds an axis?

Independent of how explanations are found: an annotation is known by its place in the text alone.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Operation

from shardy_py.api.pipeline import finish, prepare, propagate
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.sdy.attributes import TensorShardingAttr
from shardy_py.mlir.holders import Holder
from shardy_py.mlir.ir import owning_op, walk_pre_order
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.passes.runner import recording
from shardy_py.report.explain import Explainer
from shardy_py.report.explain.explaining import final_sharding, spot_of
from shardy_py.report.explain.states import Root
from shardy_py.sharding import AxisRef, TensorSharding

SHARDING = "sdy.sharding"


@dataclass(frozen=True)
class Written:
    """An annotation: the kind of its place, where that stands in the text, and which of several it is."""

    kind: str
    position: str
    index: int = 0


@dataclass(frozen=True)
class Pair:
    """A value and an axis of one of its dimensions."""

    entry: ValueEntry
    dimension: int
    axis: AxisRef


def explained(module: ModuleOp) -> Explainer:
    with recording() as record:
        finish(propagate(prepare(module)))
    return Explainer(record, module)


def pairs_of(explainer: Explainer) -> Iterator[Pair]:
    """All axes of all dimensions of all values."""
    for entry in explainer.names.table.entries:
        sharding = final_sharding(spot_of(entry))
        for dimension, given in enumerate(sharding.dimensions if sharding is not None else ()):
            for axis in given.axes:
                yield Pair(entry, dimension, axis)


def first_root(explainer: Explainer, pair: Pair) -> Root | None:
    path = next(explainer.tracer.paths(spot_of(pair.entry), pair.dimension, pair.axis), None)
    return None if path is None else path.root


def written(root: Root) -> Written:
    """The position in the text of a root's annotation."""
    spot = root.spot
    if root.op is not None:
        return Written(root.op.name, str(position_of(root.op.location)))
    if isinstance(spot, Holder):
        return Written("result", str(position_of(spot.op.location)), spot.position)
    op = owning_op(spot) or root.owner
    if isinstance(spot.owner, Operation):
        name = spot.owner.name.replace("sdy.constant", "stablehlo.constant")
        return Written(name, str(position_of(spot.owner.location)), cast(Any, spot).index)
    if op is not None and op.name == "sdy.manual_computation":
        return Written(op.name, str(position_of(op.location)))
    return Written("argument", str(position_of(spot.location)))


def annotations(module: ModuleOp) -> dict[Written, set[tuple[int, str]]]:
    """By annotation in the text, its axes by dimension (of all results of an op together)."""
    found: dict[Written, set[tuple[int, str]]] = {}

    def add(key: Written, sharding: TensorSharding) -> None:
        axes = {(at, axis.name) for at, d in enumerate(sharding.dimensions) for axis in d.axes}
        found.setdefault(key, set()).update(axes)

    for op in walk_pre_order(module):
        position = str(position_of(op.location))
        if op.name == "func.func":
            for index, entry in enumerate(_entries(op, "arg_attrs")):
                if isinstance(given := entry.data.get(SHARDING), TensorShardingAttr):
                    argument = op.regions[0].blocks[0].args[index]
                    add(Written("argument", str(position_of(argument.location))), given.data)
            for index, entry in enumerate(_entries(op, "res_attrs")):
                if isinstance(given := entry.data.get(SHARDING), TensorShardingAttr):
                    add(Written("result", position, index), given.data)
        elif isinstance(given := op.properties.get("sharding"), TensorShardingAttr):
            add(Written(op.name, position), given.data)
        else:
            if op.name == "sdy.named_computation":  # its arguments are those of a function in the end
                shardings = getattr(op.properties.get("in_shardings"), "data", ())
                for argument, given in zip(op.regions[0].blocks[0].args, shardings, strict=False):
                    add(Written("argument", str(position_of(cast(Any, argument).location))), given)
            for name in ("in_shardings", "out_shardings"):
                for sharding in getattr(op.properties.get(name), "data", ()):
                    add(Written(op.name, position), sharding)
            for index, sharding in enumerate(getattr(op.attributes.get(SHARDING), "data", ())):
                add(Written(op.name, position, index), sharding)
    return found


def without(text: str, gone: Written) -> ModuleOp | None:
    """The program without an annotation; None if it is part of what the program means."""
    module = parse_module(text)
    for op in walk_pre_order(module):
        is_here = str(position_of(op.location)) == gone.position
        if op.name == "func.func":
            if gone.kind == "argument":
                for index, argument in enumerate(op.regions[0].blocks[0].args):
                    if str(position_of(argument.location)) == gone.position:
                        _drop(op, "arg_attrs", index)
            elif gone.kind == "result" and is_here:
                _drop(op, "res_attrs", gone.index)
        elif is_here and op.name == gone.kind:
            if op.name in ("sdy.manual_computation", "sdy.reshard"):
                return None
            given = op.properties.get("sharding")
            if isinstance(given, TensorShardingAttr):
                open_ = TensorSharding.fully_open(given.data.mesh, given.data.rank)
                op.properties["sharding"] = TensorShardingAttr(open_)
            op.attributes.pop(SHARDING, None)
    return module


def outcome(text: str, before: Explainer, pair: Pair) -> str:
    """What becomes of an axis without that which its first chain begins with.

    "gone": it is not there any more. "part of the program": that cannot be taken away.
    "held": it is there, and its new explanation begins elsewhere. Anything else is a fault.
    """
    root = first_root(before, pair)
    if root is None:
        return "not explained"
    annotation = written(root)
    if annotation not in annotations(parse_module(text)):
        return f"begins at no annotation: {annotation}"
    module = without(text, annotation)
    if module is None:
        return "part of the program"
    after = explained(module)
    place = place_of(pair.entry)
    found = "gone"
    for other in pairs_of(after):
        if place_of(other.entry) == place and other.dimension == pair.dimension:
            if not other.axis.overlaps(pair.axis):
                continue
            new = first_root(after, other)
            if new is None or written(new) == annotation:
                return f"still explained by {annotation}" if new is not None else "not explained any more"
            found = "held"
    return found


def place_of(entry: ValueEntry) -> tuple[object, ...]:
    """Identifies values across runs: copies of one op in the text count as one."""
    location = entry.location if entry.role != "result" else entry.op.location
    return (entry.role, entry.op.name, str(position_of(location)), entry.index)


def _entries(function: Operation, name: str) -> tuple[DictionaryAttr, ...]:
    given = function.properties.get(name)
    return () if given is None else cast("ArrayAttr[DictionaryAttr]", given).data


def _drop(function: Operation, name: str, index: int) -> None:
    entries = list(_entries(function, name))
    if index < len(entries):
        kept = {key: value for key, value in entries[index].data.items() if key != SHARDING}
        entries[index] = DictionaryAttr(kept)
        function.properties[name] = ArrayAttr(entries)
