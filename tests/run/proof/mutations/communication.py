"""Collectives that are left out, or have other groups, pairs, dimensions or combiners."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.mlir.cloning import clone
from shardy_py.mlir.ir import operands_of, place_before, replace_operand, set_type, terminator_of, type_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, resized
from tests.run.proof.mutations.edits import (
    Site,
    changed,
    instead,
    is_number,
    ops,
    renamed,
    set_value,
    shape,
    short,
    value_of,
)

GROUPED = ("all_reduce", "all_gather", "all_to_all", "reduce_scatter")
COMBINERS = ("add", "maximum", "minimum", "multiply")
REDUCING = ("all_reduce", "reduce_scatter", "reduce", "reduce_window", "scatter", "select_and_scatter")
Groups = list[list[int]]


def dropped(module: ModuleOp) -> Iterator[Site]:
    """A collective is left out: of each group, a device takes what it has itself."""
    for op in ops(module, *GROUPED, "collective_permute"):
        if len(operands_of(op)) == 1:
            yield Site(op, "left out", partial(_drop, op))


def _drop(op: Operation) -> None:
    (value,), (result,) = operands_of(op), op.results
    build, have, want = StablehloBuilder(op), shape(value), shape(result)
    name = short(op)
    if name == "all_gather":
        at = value_of(op, "all_gather_dim")
        value = build.concatenate([value] * (want[at] // have[at]), at)
    elif name == "reduce_scatter":
        value = build.slice(value, [0] * len(have), want)
    elif have != want:
        value = build.reshape(value, want)
    instead(op, value)


def groups(module: ModuleOp) -> Iterator[Site]:
    """Other devices exchange or reduce."""
    for op in ops(module, *GROUPED):
        given = [list(row) for row in value_of(op, "replica_groups")]
        for what, rows in _other_groups(given, is_sized=short(op) != "all_reduce"):
            if rows != given:
                yield changed(op, f"groups {what}", replica_groups=rows)


def _other_groups(rows: Groups, *, is_sized: bool) -> Iterator[tuple[str, Groups]]:
    devices, size = sorted(device for row in rows for device in row), len(rows[0])
    yield "of neighbours", [devices[i : i + size] for i in range(0, len(devices), size)]
    yield "of every n-th", [devices[i :: len(rows)] for i in range(len(rows))]
    yield "in reverse order", [row[::-1] for row in rows]
    yield "rotated", [row[1:] + row[:1] for row in rows]
    if len(rows) > 1:
        first, second = [*rows[0]], [*rows[1]]
        first[-1], second[-1] = second[-1], first[-1]
        yield "with two members swapped", [first, second, *rows[2:]]
    if not is_sized:
        yield "of one device", [[device] for device in devices]
        yield "of all devices", [devices]
        if size % 2 == 0:
            yield "in halves", [half for row in rows for half in (row[: size // 2], row[size // 2 :])]


def pairs(module: ModuleOp) -> Iterator[Site]:
    """Other devices receive."""
    for op in ops(module, "collective_permute"):
        given = [list(row) for row in value_of(op, "source_target_pairs")]
        targets = [target for _, target in given]
        sources = [source for source, _ in given]
        rotated = targets[1:] + targets[:1]
        for what, rows in (
            ("the first left out", given[1:]),
            ("the last left out", given[:-1]),
            ("reversed", list(zip(targets, sources, strict=True))),
            ("targets rotated", list(zip(sources, rotated, strict=True))),
            ("two targets swapped", list(zip(sources, [*targets[:-2], *targets[:-3:-1]], strict=True))),
        ):
            if rows and [*map(list, rows)] != given:
                yield changed(op, f"pairs {what}", source_target_pairs=rows)


def combiners(module: ModuleOp) -> Iterator[Site]:
    """A reduction of another kind."""
    for op in ops(module, *REDUCING):
        end = terminator_of(op.regions[-1])
        assert end is not None
        for value in operands_of(end):
            inner: Any = value.owner
            if isinstance(inner, Operation) and short(inner) in COMBINERS and is_number(value):
                for name in COMBINERS:
                    if name != short(inner):
                        what = f"{short(inner)} becomes {name}"
                        yield Site(op, what, partial(renamed, inner, name))


def dimensions(module: ModuleOp) -> Iterator[Site]:
    """Parts are put together, or taken apart, along another dimension; a reshape keeps the type."""
    for op in ops(module, "all_gather"):
        at, (have, want) = value_of(op, "all_gather_dim"), _sizes(op)
        for other in range(len(have)):
            if other != at:
                made = _times(have, other, want[at] // have[at])
                yield _along(op, f"dimension {other}", made, all_gather_dim=other)
    for op in ops(module, "reduce_scatter"):
        at, (have, want) = value_of(op, "scatter_dimension"), _sizes(op)
        for other in range(len(have)):
            parts = have[at] // want[at]
            if other != at and have[other] % parts == 0:
                made = [size // (parts if d == other else 1) for d, size in enumerate(have)]
                yield _along(op, f"dimension {other}", made, scatter_dimension=other)
    for op in ops(module, "all_to_all"):
        parts, (have, _) = value_of(op, "split_count"), _sizes(op)
        given = value_of(op, "split_dimension"), value_of(op, "concat_dimension")
        for split in range(len(have)):
            for concat in range(len(have)):
                if (split, concat) != given and have[split] % parts == 0:
                    made = _times(have, concat, parts)
                    made[split] //= parts
                    what = f"split {split}, concatenated {concat}"
                    yield _along(op, what, made, split_dimension=split, concat_dimension=concat)


def repeated(module: ModuleOp) -> Iterator[Site]:
    """A collective that keeps the type of its operand runs twice: a sum is summed again, a part moves on."""
    for op in ops(module, *GROUPED, "collective_permute"):
        if len(operands_of(op)) == 1 and type_of(operands_of(op)[0]) == type_of(op.results[0]):
            yield Site(op, "twice", partial(_repeat, op))


def _repeat(op: Operation) -> None:
    first = clone(op, {})
    place_before(first, op)
    replace_operand(op, 0, first.results[0])


def _sizes(op: Operation) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return shape(operands_of(op)[0]), shape(op.results[0])


def _times(sizes: tuple[int, ...], at: int, factor: int) -> list[int]:
    return [size * (factor if d == at else 1) for d, size in enumerate(sizes)]


def _along(op: Operation, what: str, sizes: list[int], **values: int) -> Site:
    return Site(op, what, partial(_change_dimension, op, sizes, values))


def _change_dimension(op: Operation, sizes: list[int], values: dict[str, int]) -> None:
    """Replaces a collective by one of other dimensions, whose result is reshaped; it stands for nothing."""
    (result,) = op.results
    new = clone(op, {})
    place_before(new, op)
    set_value(new, **values)
    set_type(new.results[0], resized(result, sizes))
    instead(op, StablehloBuilder(op).one("reshape", new.results, type_of(result)))


COMMUNICATION = {
    "collective dropped": dropped,
    "collective repeated": repeated,
    "groups": groups,
    "reduction": combiners,
    "pairs": pairs,
    "collective dimension": dimensions,
}
