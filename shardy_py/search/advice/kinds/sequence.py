"""Activations between products sharded along the axes of their sums: sequence parallelism around norms.

    with_sharding_constraint(h @ w_down, P("data", "model", None))

The all-reduce of a product becomes a reduce-scatter, and the next product gathers: as many bytes, as XLA
compiles it, but each device keeps and computes its part of what is between, norms and residuals. Hence what
it saves is memory, which `verdicts.py` judges it by. Not here: changes that save communication.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from shardy_py.mlir.dialects.stablehlo import DotGeneralOp
from shardy_py.report.communication import CollectiveUse
from shardy_py.search.advice.program import AdvisedProgram, shape_of
from shardy_py.search.advice.remedy import Edit, Proposal
from shardy_py.search.advice.sites import ExpressionSite, is_backward
from shardy_py.search.advice.variants import fits
from shardy_py.sharding import AxisRef, DimensionSharding, TensorSharding

_MOST_SITES = 12
"""The expressions of a change: a user edits each of them by hand."""


def between_products(program: AdvisedProgram, uses: Iterable[CollectiveUse]) -> Iterator[Proposal]:
    """Returns all products that a sum follows, sharded along its axes, in one dimension after another.

    uses: the collectives of the program.
    """
    found: dict[tuple[str, ...], dict[int, ExpressionSite]] = {}
    for use in uses:
        op = use.cause.made_for
        if use.kind != "all_reduce" or not isinstance(op, DotGeneralOp):
            continue
        entry = program.source_of(op.results[0])
        site = None if entry is None or is_backward(entry.location) else program.sites.of(entry)
        if site is not None and len(shape_of(site.values[0])) > 1:
            found.setdefault(use.axis_names, {})[id(site)] = site
    for names, sites in found.items():
        for dimension in range(2):
            each = (_sharded(program, site, names, dimension) for site in sites.values())
            edits = tuple(edit for edit in each if edit is not None)
            kept = tuple(_kept(program, names, sites)) if edits else ()
            if 0 < len(edits) + len(kept) <= _MOST_SITES:
                yield (*edits, *kept)


def _kept(
    program: AdvisedProgram, names: tuple[str, ...], sums: Mapping[int, ExpressionSite]
) -> Iterator[Edit]:
    """The constraints that keep the axes of the products in between, which would follow their operands."""
    for site in program.sites.products():
        sharding = program.propagated(site.values[0])
        if sharding is None or id(site) in sums:
            continue
        used = {axis.name for dimension in sharding.dimensions for axis in dimension.axes}
        if used >= {*names}:
            closed = (DimensionSharding(each.axes, is_closed=True) for each in sharding.dimensions)
            yield Edit("constraint", site.values, TensorSharding(sharding.mesh, tuple(closed)), site)


def _sharded(
    program: AdvisedProgram, site: ExpressionSite, names: tuple[str, ...], dimension: int
) -> Edit | None:
    """The constraint that adds axes behind the others of a dimension that is not the last one."""
    shape, sharding = shape_of(site.values[0]), program.propagated(site.values[0])
    if sharding is None or dimension >= len(shape) - 1:
        return None
    axes = [each.axes for each in sharding.dimensions]
    axes[dimension] = (*axes[dimension], *map(AxisRef, names))
    if not fits(tuple(axes), shape, program.mesh):
        return None
    dimensions = tuple(DimensionSharding(each, is_closed=True) for each in axes)
    return Edit("constraint", site.values, TensorSharding(sharding.mesh, dimensions), site)
