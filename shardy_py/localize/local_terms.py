"""Terms of reductions, collectives of the user, and ops that change no data, on the parts that devices hold.

Not here: the collectives of sdy (`local_collectives.py`).
"""

from __future__ import annotations

from shardy_py.localize.device_ids import device_id
from shardy_py.localize.identities import identity
from shardy_py.localize.local_collectives import AxesByDimension, data_of, target_of
from shardy_py.localize.localizer import Localizer, Site, not_local, replace_result
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, shape_of
from shardy_py.ops import COMBINERS
from shardy_py.ops.combiners import ADD
from shardy_py.reshard.compare import is_equivalent
from shardy_py.sharding import Axes

# ---------------------------------------------------------------------- unreduced results


def replicated_to_unreduced(local: Localizer, site: Site) -> None:
    """Sums: the first device along the axes keeps its value, the others have zeros. Extrema: all keep it."""
    axes: Axes = data_of(site.op, "axes")
    sharding, mesh = target_of(local, site.op)
    value = site.values[0]
    if axes and sharding.reduction == "sum":
        build = StablehloBuilder(site.op)
        first = local.is_first(build, mesh, axes)
        value = build.select(first, value, identity(build, ADD.op, value.type))
    replace_result(site.op, value)


def sharded_to_unreduced(local: Localizer, site: Site) -> None:
    """Puts the part into a larger tensor, filled with what the reduction ignores."""
    by_dimension: AxesByDimension = data_of(site.op, "axes")
    sharding, mesh = target_of(local, site.op)
    value, type_ = site.values[0], site.op.results[0].type
    if any(by_dimension):
        build = StablehloBuilder(site.op)
        combiner = COMBINERS[sharding.reduction].op
        rest = identity(build, combiner, type_) if local.counts.is_narrow else None
        starts = [
            local.offset(build, mesh, axes, size) if axes else local.position(build, 0)
            for axes, size in zip(by_dimension, shape_of(value), strict=True)
        ]
        rest = identity(build, combiner, type_) if rest is None else rest
        value = build.one("dynamic_update_slice", (rest, value, *starts), type_)
    replace_result(site.op, value)


# ---------------------------------------------------------------------- the user's own


def among_partitions(local: Localizer, site: Site) -> None:
    """A collective of the user among partitions, by its channel: without one if replicas are the devices.

    Raises ShardyError on a grid of replicas and partitions, among which it has no groups.
    """
    if "channel_handle" not in site.op.properties or local.counts.replicas == 1:
        return
    if local.counts.is_grid:
        raise not_local("an exchange among partitions on a grid with replicas", "set replica-count to 1")
    del site.op.properties["channel_handle"]


def partition_id(local: Localizer, site: Site) -> None:
    """The id of the device, which the user's program knows as its partition."""
    if local.counts.replicas > 1:
        build, result = StablehloBuilder(site.op), site.op.results[0]
        replace_result(site.op, build.convert(device_id(build, local.counts), element_of(result)))


# ---------------------------------------------------------------------- ops that change no data


def forwarded(local: Localizer, site: Site) -> None:
    """An op whose result is its operand in the same sharding."""
    if not is_equivalent(site.operands[0].sharding, site.results[0].sharding):
        raise not_local(
            f"a change of the sharding from {site.operands[0].sharding} to {site.results[0].sharding}",
            "run sdy-reshard-to-collectives before",
        )
    replace_result(site.op, site.values[0])
