"""Assertions that pin shardings and collectives in a test suite, with failures that say why.

    from shardy_py.testing import assert_collectives, assert_sharding

    result = propagate(Program.from_jax(step, *arguments))
    assert_sharding(result, "result 0", P("data", None))
    assert_collectives(result, {"all_reduce": 2}, max_bytes=1 << 20)

Not here: propagation (`api/`).
"""

from __future__ import annotations

from collections.abc import Mapping

from shardy_py.api import P, Program, Result, Sharding, Value, propagate
from shardy_py.api.program import Key
from shardy_py.api.sharding import parse_sharding
from shardy_py.errors import ShardyError
from shardy_py.partition.cost import DEFAULT, CostModel
from shardy_py.report.communication import SENDING_KINDS, communication_text
from shardy_py.sharding import DimensionSharding, Mesh, TensorSharding

Expected = Sharding | P | str | tuple[object, ...]
"""A sharding, a spec or sdy text; only the axes of dimensions count, and those left unreduced."""
KINDS = SENDING_KINDS
"""What `assert_collectives` counts."""


def assert_sharding(subject: Result | Program, key: Key, expected: Expected) -> None:
    """Fail unless a value is sharded as expected.

    subject: a result, or a program, which is propagated first. Dimensions beyond the spec are not sharded;
    whether they are open, and priorities, do not count. Raises `AssertionError` with the chain that led to
    the sharding it has, `ShardyError` for a value that there is not.
    """
    __tracebackhide__ = True
    result = _result(subject)
    value = result[key]
    wanted, found = _axes(_wanted(value, expected)), _axes(_found(value))
    if wanted == found:
        return
    lines = [
        f"sharding of {value}{f' ({value.label})' if value.label else ''}:",
        f"  expected {_told(wanted)}",
        f"  got      {_told(found)}",
    ]
    if result.record is not None:
        lines += ["", str(result.explain(key))]
    raise AssertionError("\n".join(lines))


def assert_collectives(
    subject: Result | Program,
    expected: Mapping[str, int] | None = None,
    *,
    max_bytes: int | None = None,
    max_seconds: float | None = None,
    model: CostModel | str = DEFAULT,
) -> None:
    """Fail unless the program needs exactly these collectives, and no more than so many bytes and seconds.

    expected: how many by kind (all_gather, all_reduce, all_to_all, collective_permute, reduce_scatter,
    halo_exchange); kinds left out are not to occur; None: any. max_bytes: that each device takes in, over all
    runs of loops. Raises `AssertionError` with the bill, `ShardyError` for a kind that there is not.
    """
    __tracebackhide__ = True
    bill = _result(subject).communication(model)
    wanted = expected or {}
    for kind in wanted:
        if kind not in KINDS:
            raise ShardyError(f"there is no collective '{kind}'; there are {', '.join(KINDS)}")
    faults = [
        f"expected {wanted.get(kind, 0)} {kind}, got {bill.counts.get(kind, 0)}"
        for kind in KINDS
        if expected is not None and wanted.get(kind, 0) != bill.counts.get(kind, 0)
    ]
    if max_bytes is not None and bill.total.bytes > max_bytes:
        faults.append(f"expected at most {max_bytes:,} bytes, got {bill.total.bytes:,}")
    if max_seconds is not None and bill.total.seconds > max_seconds:
        faults.append(
            f"expected at most {max_seconds:g} s on {bill.model.name}, got {bill.total.seconds:g} s"
        )
    if faults:
        raise AssertionError("\n".join([*faults, "", communication_text(bill)]))


def _result(subject: Result | Program) -> Result:
    return subject if isinstance(subject, Result) else propagate(subject)


def _wanted(value: Value, expected: Expected) -> TensorSharding:
    rank = len(value.shape or ())
    if isinstance(expected, str):
        parsed = parse_sharding(expected)
        mesh = parsed.mesh if isinstance(parsed.mesh, Mesh) else value.meshes.get(parsed.mesh)
        if mesh is None:
            raise ShardyError(f"the program has no mesh @{parsed.mesh}")
        return Sharding(mesh, parsed).for_rank(rank).value
    if isinstance(expected, Sharding):
        return expected.for_rank(rank).value
    found = value.sharding
    meshes = [] if found is None else [found.mesh]
    meshes += [mesh for mesh in value.meshes.values() if not mesh.is_maximal]
    axes = {axis.name for dimension in P.of(expected).dimensions for axis in dimension.axes}
    fitting = (mesh for mesh in meshes if axes <= set(mesh.order))
    mesh = next(fitting, meshes[0] if meshes else Mesh())
    return Sharding(mesh, expected).for_rank(rank).value


def _found(value: Value) -> TensorSharding:
    found = value.sharding
    if found is None:
        return TensorSharding("", (DimensionSharding(),) * len(value.shape or ()))
    return found.value


Axes = tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]
"""The axes of each dimension, and those left unreduced."""


def _axes(sharding: TensorSharding) -> Axes:
    dimensions = tuple(tuple(map(str, dimension.axes)) for dimension in sharding.dimensions)
    return dimensions, tuple(map(str, sharding.unreduced_axes))


def _told(axes: Axes) -> str:
    dimensions = ", ".join("{" + ", ".join(names) + "}" for names in axes[0])
    unreduced = ", unreduced={" + ", ".join(axes[1]) + "}" if axes[1] else ""
    return f"[{dimensions}]{unreduced}"
