"""Assertions for shardings and collectives in test suites; failures include an explanation.

    result = propagate(Program.from_jax(step, *arguments))
    assert_sharding(result, "result 0", P("data", None))
    assert_collectives(result, {"all_reduce": 2}, max_bytes=1 << 20)

Not here: propagation (`api/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardy_py.api import P, Program, Result, Sharding, Value, propagate
from shardy_py.api.arguments import expect_one_of
from shardy_py.api.foreign import foreign_sharding
from shardy_py.api.sharding import parse_sharding
from shardy_py.api.verified_module import ValueKey
from shardy_py.base.byte_sizes import byte_size
from shardy_py.hardware.cost import DEFAULT, CostModel
from shardy_py.report.communication import SENDING_KINDS as KINDS
from shardy_py.report.communication import Partitioner
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import meshes_with_axes, resolve

Expected = Any
"""A sharding as `Program.annotate` takes it; only axes of dimensions and unreduced axes are compared."""


def assert_sharding(subject: Result | Program, key: ValueKey, expected: Expected) -> None:
    """Raises AssertionError, with an explanation, unless a value is sharded as expected.

    subject: a result, or a program, which is propagated first. Open dimensions and priorities are ignored;
    further dimensions are not sharded. Raises ShardyError if there is no such value.
    """
    __tracebackhide__ = True
    result = _result(subject)
    value = result[key]
    rank = len(value.shape or ())
    found = value.sharding
    wanted = _spelled(_wanted(value, expected, rank).value, rank)
    got = _spelled(None if found is None else found.value, rank)
    if wanted != got:
        label = f" ({value.label})" if value.label else ""
        lines = [f"sharding of {value}{label}:", f"  expected {wanted}", f"  got      {got}"]
        if result.record is not None:
            lines += ["", str(result.explain(key))]
        raise AssertionError("\n".join(lines))


def assert_collectives(
    subject: Result | Program,
    expected: Mapping[str, int] | None = None,
    *,
    max_bytes: float | str | None = None,
    max_seconds: float | None = None,
    model: CostModel | str = DEFAULT,
    partitioner: Partitioner | None = None,
) -> None:
    """Raises AssertionError, with a report, unless the program needs these collectives and no more than said.

    expected: the number of each kind (all_gather, all_reduce, all_to_all, collective_permute, reduce_scatter,
        halo_exchange); other kinds must not occur; None: any.
    max_bytes: received per device, over all iterations of loops; a number, or text such as "64MB".
    max_seconds: as `model` estimates.
    partitioner: whose collectives, as for `Result.communication`.
    Raises ShardyError for an unknown kind.
    """
    __tracebackhide__ = True
    report = _result(subject).communication(model, partitioner=partitioner)
    wanted, total = expected or {}, report.total
    for kind in wanted:
        expect_one_of("collective", kind, KINDS)
    faults = [
        f"expected {wanted.get(kind, 0)} {kind}, got {report.counts.get(kind, 0)}"
        for kind in KINDS
        if expected is not None and wanted.get(kind, 0) != report.counts.get(kind, 0)
    ]
    if max_bytes is not None and total.bytes > (most := byte_size(max_bytes)):
        faults.append(f"expected at most {most:,} bytes, got {total.bytes:,}")
    if max_seconds is not None and total.seconds > max_seconds:
        faults.append(f"expected at most {max_seconds:g} s on {report.model.name}, got {total.seconds:g} s")
    if faults:
        raise AssertionError("\n".join([*faults, "", str(report)]))


def _result(subject: Result | Program) -> Result:
    return subject if isinstance(subject, Result) else propagate(subject)


def _wanted(value: Value, expected: Expected, rank: int) -> Sharding:
    known = meshes_with_axes(value.meshes)
    expected = foreign_sharding(expected, known, value.shape) or expected
    if isinstance(expected, Sharding):
        return expected.for_rank(rank)
    if isinstance(expected, str):
        parsed = parse_sharding(expected)
        return Sharding(resolve(parsed.mesh, value.meshes), parsed).for_rank(rank)
    found = value.sharding
    meshes = [found.mesh] if found is not None and found.mesh.axes else []
    meshes += known.values()
    axes = {axis.name for dimension in P.of(expected).dimensions for axis in dimension.axes}
    fitting = (mesh for mesh in meshes if axes <= set(mesh.order))
    return Sharding(next(fitting, meshes[0] if meshes else Mesh()), expected).for_rank(rank)


def _spelled(sharding: TensorSharding | None, rank: int) -> str:
    """Returns the axes of each dimension, and the unreduced axes."""
    axes = ((),) * rank if sharding is None else tuple(d.axes for d in sharding.dimensions)
    dimensions = ", ".join("{" + ", ".join(map(str, names)) + "}" for names in axes)
    unreduced = () if sharding is None else sharding.unreduced_axes
    return f"[{dimensions}]" + (f", unreduced={{{', '.join(map(str, unreduced))}}}" if unreduced else "")
