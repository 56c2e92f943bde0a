"""The reshards that make the tensors of one op compatible, and the all-reduces of its reductions.

    rule ([i, k], [k, j])->([i, j]), operands [{"x"}, {}], [{}, {"x"}], result [{"x"}, {}]
    plan: reshard operand 1 to [{}, {}]

`reshard_plan` is the full version: it leaves no conflict. `minimal_plan` changes only what partitioners are
known to handle badly. Not here: control flow and calls (`steps.py`), single devices (`op_plans.py`), the
IR (`passes/`).
"""

from __future__ import annotations

from dataclasses import dataclass

from shardy_py.errors import ShardyError
from shardy_py.partition.common_axes import AxesPerFactor, common_axes, shared_axes
from shardy_py.partition.steps import AllReduce
from shardy_py.sharding import Axes, FactorType, Mesh, Projection, ShardingRule, TensorSharding
from shardy_py.sharding.axis_lists import difference, sort_and_merge
from shardy_py.sharding.meshes import Meshes, mesh_of

Shardings = tuple[TensorSharding | None, ...]
"""The sharding of each tensor; None is fully replicated."""


@dataclass(frozen=True, slots=True)
class OpShardings:
    """One op with its rule and shardings.

    sizes: the number of elements of each tensor, operands first; 0 without a static shape.
    mesh_name: the mesh of the plan, by symbol or inlined; `mesh` is that mesh.
    """

    rule: ShardingRule
    operands: Shardings
    results: Shardings
    sizes: tuple[int, ...]
    mesh_name: str | Mesh
    mesh: Mesh

    def project(self) -> Projection:
        """The projection to the factors of the rule; a missing sharding is closed."""
        tensors = self.operands + self.results
        return Projection.build(self.rule, tensors, self.mesh, closed_if_missing=True)

    def sharding_in(self, projection: Projection, tensor: int) -> TensorSharding:
        """The sharding of a tensor, operands first, in `projection`."""
        mapping = self.rule.tensors[tensor]
        sizes = self.rule.factor_sizes
        return projection.tensors[tensor].to_sharding(mapping, sizes, self.mesh_name, self.mesh)

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


def reshard_plan(op: OpShardings, meshes: Meshes) -> ReshardPlan:
    """The plan without any conflict left."""
    before = op.project()
    chosen = common_axes(before, op.rule, op.sizes, op.mesh)
    after = before
    for factor, axes in enumerate(chosen):
        after = after.updated(factor, axes)
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
    if not reduced or not op.results:
        return ()
    axes = sort_and_merge(difference(reduced, unreduced_axes(op.results[0]), op.mesh), op.mesh)
    shardings = [
        made[i].made if i in made else op.own_sharding(i, is_written=bool(made))
        for i in range(len(op.results))
    ]
    return tuple(AllReduce(s, axes, s.reduction) for s in shardings) if axes else ()


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
