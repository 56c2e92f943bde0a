"""The reshards that make the tensors of one op compatible, and the all-reduces of its reductions.

    rule ([i, k], [k, j])->([i, j]), operands [{"x"}, {}], [{}, {"x"}], result [{"x"}, {}]
    plan: reshard operand 1 to [{}, {}]

`reshard_plan` is the full version: it leaves no conflict. `minimal_plan` changes only what partitioners are
known to handle badly. Ops on one device, matrix products whose result is cheaper to reshard than an operand,
and reshapes with overflow have plans of their own. Not here: control flow and calls (`steps.py`), the IR
(`passes/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.reshard.common_axes import AxesPerFactor, common_axes, shared_axes
from shardy_py.reshard.compare import is_equivalent, is_replicated
from shardy_py.reshard.steps import AllReduce, Shardings
from shardy_py.sharding import (
    Axes,
    FactorSharding,
    FactorType,
    Mesh,
    Projection,
    ShardingRule,
    TensorMapping,
    TensorProjection,
    TensorSharding,
    distribute_axes,
)
from shardy_py.sharding.axis_lists import difference, overlaps, sort_and_merge
from shardy_py.sharding.meshes import Meshes, is_single_device, mesh_of


@dataclass(frozen=True, slots=True)
class OpShardings:
    """One op with its rule and shardings.

    sizes: the number of elements of each tensor, operands first; 0 without a static shape.
    mesh_name: the mesh of the plan, by symbol or inlined; `mesh` is that mesh.
    reduction: of all-reduces after the op; "": that of the result's sharding; None: there is none.
    is_marked: whether results are then written as unreduced, one after another.
    """

    rule: ShardingRule
    operands: Shardings
    results: Shardings
    sizes: tuple[int, ...]
    mesh_name: str | Mesh
    mesh: Mesh
    reduction: str | None = ""
    is_marked: bool = False

    def project(self) -> Projection:
        """The projection to the factors of the rule; a missing sharding is closed."""
        tensors = self.operands + self.results
        return Projection.build(self.rule, tensors, self.mesh, closed_if_missing=True)

    def sharding_in(self, projection: Projection, tensor: int) -> TensorSharding:
        """The sharding of a tensor, operands first, in `projection`.

        It is not unreduced along axes that now shard it; Shardy keeps those axes, and refuses what it made.
        """
        mapping = self.rule.tensors[tensor]
        sizes = self.rule.factor_sizes
        made = projection.tensors[tensor].to_sharding(mapping, sizes, self.mesh_name, self.mesh)
        if not made.unreduced_axes:
            return made
        sharding_it = tuple(axis for dimension in made.dimensions for axis in dimension.axes)
        return replace(made, unreduced_axes=difference(made.unreduced_axes, sharding_it, self.mesh))

    def own_sharding(self, result: int, *, is_written: bool) -> TensorSharding:
        """The sharding of a result, fully replicated if it has none.

        is_written: whether another result has just got a sharding. All results have a sharding or none, so in
            Shardy this result then has an open one.
        """
        given = self.results[result]
        if given is not None:
            return given
        make = TensorSharding.fully_open if is_written else TensorSharding.fully_closed
        return make(self.mesh_name, len(self.rule.results[result]))


@dataclass(frozen=True, slots=True)
class ResultReshard:
    """The op has a result in the sharding `made`; its users get it through reshards to `seen`, in order."""

    made: TensorSharding
    seen: tuple[TensorSharding, ...]


@dataclass(frozen=True, slots=True)
class ReshardPlan:
    """The communication to insert around one op.

    operands: by index, the shardings that an operand is resharded to, one after another.
    results: by index.
    all_reduces: one for each result, before its reshards; or none.
    """

    operands: tuple[tuple[int, tuple[TensorSharding, ...]], ...] = ()
    results: tuple[tuple[int, ResultReshard], ...] = ()
    all_reduces: tuple[AllReduce, ...] = ()


NOTHING = ReshardPlan()
_ON_DEVICE = Behaviour.SINGLE_DEVICE_TENSORS_ARE_RESHARDED


def reshard_plan(op: OpShardings, meshes: Meshes) -> ReshardPlan:
    """The plan without any conflict left."""
    before = op.project()
    chosen = common_axes(before, op.rule, op.sizes, op.mesh)
    after = before.along(dict(enumerate(chosen)))
    changed = frozenset(after.changed_since(before))
    return plan_for(op, after, changed, chosen, meshes)


def plan_for(
    op: OpShardings, after: Projection, changed: frozenset[int], chosen: AxesPerFactor, meshes: Meshes
) -> ReshardPlan:
    """The plan that reshards the tensors in `changed`, and those with devices in another order, to `after`.

    chosen: the axes of each factor; those along reduction factors are to be reduced.
    """
    count = len(op.operands)
    operands = tuple(
        (index, (op.sharding_in(after, index),))
        for index, sharding in enumerate(op.operands)
        if index in changed or _has_other_devices(sharding, op.mesh, meshes)
    )
    remade = [
        index
        for index, sharding in enumerate(op.results)
        if count + index in changed or _has_other_devices(sharding, op.mesh, meshes)
    ]
    results = tuple(
        (
            index,
            ResultReshard(
                op.sharding_in(after, count + index), (op.own_sharding(index, is_written=number > 0),)
            ),
        )
        for number, index in enumerate(remade)
    )
    pairs = zip(op.rule.factors, chosen, strict=True)
    reduced = tuple(axis for f, axes in pairs if f.type is FactorType.REDUCTION for axis in axes)
    return ReshardPlan(operands, results, _all_reduces(op, dict(results), reduced))


def minimal_plan(op: OpShardings, dot: ResultReshard | None = None) -> ReshardPlan:
    """Only the reshard of a `dot`, and all-reduces where a result has unreduced axes."""
    results = ((0, dot),) if dot is not None else ()
    return ReshardPlan((), results, _all_reduces(op, dict(results), _agreed_reduction_axes(op)))


def unreduced_axes(sharding: TensorSharding | None) -> Axes:
    """The unreduced axes, none without a sharding."""
    return sharding.unreduced_axes if sharding is not None else ()


def _all_reduces(op: OpShardings, made: dict[int, ResultReshard], reduced: Axes) -> tuple[AllReduce, ...]:
    """Reduces every result along those of `reduced` that do not stay unreduced."""
    if not reduced or not op.results or op.reduction is None:
        return ()
    axes = sort_and_merge(difference(reduced, unreduced_axes(op.results[0]), op.mesh), op.mesh)
    shardings = [
        made[i].made if i in made else op.own_sharding(i, is_written=bool(made) or (op.is_marked and i > 0))
        for i in range(len(op.results))
    ]
    return tuple(AllReduce(s, axes, op.reduction or s.reduction) for s in shardings) if axes else ()


def _agreed_reduction_axes(op: OpShardings) -> Axes:
    """The axes along reduction factors if the first result has unreduced axes; the tensors must agree."""
    if not op.results or not unreduced_axes(op.results[0]):
        return ()
    projection = op.project()
    result: Axes = ()
    for index, factor in enumerate(op.rule.factors):
        if factor.type is FactorType.REDUCTION:
            axes = shared_axes(projection, index)
            if axes is None:
                raise ShardyError(
                    "the result has unreduced axes while the operand has incompatible sharding along "
                    "reduction factors."
                )
            result += axes
    return result


def _has_other_devices(sharding: TensorSharding | None, mesh: Mesh, meshes: Meshes) -> bool:
    if sharding is None or sharding.is_fully_replicated:
        return False
    return mesh_of(sharding, meshes).device_ids != mesh.device_ids


def global_mesh(meshes: Meshes) -> str | None:
    """The first mesh with axes."""
    return next((name for name, mesh in meshes.items() if mesh.axes), None)


def is_single_device_op(results: Shardings, meshes: Meshes) -> bool:
    """True if a result is on a single device."""
    return any(is_single_device(sharding, meshes) for sharding in results)


def single_device_plan(
    operands: Shardings, results: Shardings, ranks: Sequence[int | None], meshes: Meshes
) -> ReshardPlan:
    """The reshards around an op with a result on a single device; none if there is no mesh of all devices.

    ranks: of operands and results; None for tokens and other types that are not ranked tensors.
    """
    target = _device(results, meshes)
    everyone = global_mesh(meshes)
    if everyone is None:
        return NOTHING
    before: list[tuple[int, tuple[TensorSharding, ...]]] = []
    for index, (sharding, rank) in enumerate(zip(operands, ranks, strict=False)):
        if rank is not None and (chain := _to_device(sharding, rank, target, everyone)):
            before.append((index, chain))
    after: list[tuple[int, ResultReshard]] = []
    for index, (sharding, rank) in enumerate(zip(results, ranks[len(operands) :], strict=True)):
        if rank is None:
            if not _ON_DEVICE.holds:  # since then they keep their own
                after.append((index, ResultReshard(TensorSharding(everyone, ()), ())))
        else:
            after.append((index, ResultReshard(target, _from_device(sharding, rank, everyone, meshes))))
    return ReshardPlan(tuple(before), tuple(after))


def _device(results: Shardings, meshes: Meshes) -> TensorSharding:
    """The sharding of rank 0 on the device of the results."""
    on_devices = [s for s in results if s is not None and is_single_device(s, meshes)]
    if len({mesh_of(s, meshes).maximal_device_id for s in on_devices}) > 1:
        raise ShardyError("has conflicting single-device result shardings")
    return TensorSharding(on_devices[-1].mesh, ())


def _to_device(
    sharding: TensorSharding | None, rank: int, target: TensorSharding, everyone: str
) -> tuple[TensorSharding, ...]:
    replicated = TensorSharding.fully_closed(everyone, rank)
    sharding = sharding or replicated
    if is_equivalent(sharding, target) and sharding.mesh == target.mesh:
        return ()
    if is_replicated(sharding) and sharding.mesh == everyone:
        return (target,)
    return (replicated, target)


def _from_device(
    sharding: TensorSharding | None, rank: int, everyone: str, meshes: Meshes
) -> tuple[TensorSharding, ...]:
    replicated = TensorSharding.fully_closed(everyone, rank)
    if sharding is None or is_single_device(sharding, meshes) or sharding == replicated:
        return (replicated,)
    return (replicated, sharding)


def dot_result_reshard(op: OpShardings) -> ResultReshard | None:
    """The reshard of the result of a dot with two operands; None if it is not cheaper.

    It is if the operands agree, the result differs from one of them along one factor, where that operand is
    sharded and at least as large as the result, and the result has the reduced axes there.
    """
    wanted = op.results[0]
    if wanted is None:
        return None
    projection = op.project()
    found = _conflict(op, projection)
    if found is None:
        return None
    factor, axes, reduced = found
    have = projection.tensors[2].factors[factor]
    if have is None or not have.axes or have.axes != reduced:
        return None
    result = projection.tensors[2].with_factor(factor, axes)
    tensors = (*projection.tensors[:2], result)
    return ResultReshard(op.sharding_in(Projection(tensors, 2), 2), (wanted,))


def _conflict(op: OpShardings, projection: Projection) -> tuple[int, Axes, Axes] | None:
    """The only factor along which result and operand differ, the operand's axes there, and the reduced axes.

    None if there is none, or several, or if resharding the result there is not cheaper.
    """
    lhs, rhs, result = projection.tensors
    found: tuple[int, Axes] | None = None
    reduced: Axes = ()
    seen: Axes = ()
    for index, factor in enumerate(op.rule.factors):
        left, right = lhs.factors[index], rhs.factors[index]
        if left is not None and right is not None:
            axes, size = left.axes, max(op.sizes[0], op.sizes[1])
            if axes != right.axes:
                return None
            if factor.type is FactorType.REDUCTION:
                reduced += axes
                continue
        else:
            one = left or right
            axes, size = (one.axes if one is not None else ()), op.sizes[0 if left is not None else 1]
            if overlaps(axes, seen):
                return None
            seen += axes
        made = result.factors[index]
        if made is not None and made.axes != axes:
            if not axes or found is not None or op.sizes[2] > size:
                return None
            found = (index, axes)
    return None if found is None else (*found, reduced)


def has_overflow(projection: Projection) -> bool:
    """True if axes of a tensor do not fit its factors."""
    return any(tensor.has_overflow for tensor in projection.tensors)


def overflow_plan(op: OpShardings, operand: TensorSharding | None, meshes: Meshes) -> ReshardPlan:
    """The plan for a reshape with overflow, whose operand's own sharding is `operand`."""
    projection = op.project()
    sizes = [tensor.sharding_size(op.mesh) for tensor in projection.tensors]
    larger = projection.tensors[0 if sizes[0] >= sizes[1] else 1]
    axes = tuple(axis for f in larger.factors if f is not None for axis in f.axes + f.overflow)
    pairs = zip(projection.tensors, op.rule.tensors, strict=True)
    assigned = Projection(tuple(_assigned(t, m, axes, op.rule, op.mesh) for t, m in pairs), 1)
    legal = Projection.build(op.rule, [op.sharding_in(assigned, i) for i in (0, 1)], op.mesh)
    chosen = legal.common_prefix_axes(len(op.rule.factors))
    after = assigned.along(dict(enumerate(chosen)))
    given = (operand, op.results[0])
    changed = frozenset(i for i in (0, 1) if not is_equivalent(op.sharding_in(after, i), given[i]))
    return plan_for(op, after, changed, chosen, meshes)


def _assigned(
    tensor: TensorProjection, mapping: TensorMapping, axes: Axes, rule: ShardingRule, mesh: Mesh
) -> TensorProjection:
    present = [f for dimension in mapping for f in dimension if tensor.factors[f] is not None]
    empty = [FactorSharding((), f.is_closed, f.is_minor_most) for i in present if (f := tensor.factors[i])]
    shared = distribute_axes(empty, [rule.factors[i].size for i in present], axes, mesh)
    factors = list(tensor.factors)
    for index in (f for dimension in mapping for f in dimension):
        factors[index] = FactorSharding((), True, False)  # those behind an overflow had none
    for index, factor in zip(present, shared, strict=True):
        factors[index] = factor
    return TensorProjection(tuple(factors), tensor.replicated, tensor.unreduced, tensor.reduction)
