"""The shardings that XLA gives a `ragged_dot` by its rule: those of Shardy's explicit reshards.

XLA runs `sdy-insert-explicit-reshards` in full for this op, so that its partitioner finds operands that
agree: the ragged dimension and that of the groups are whole, and the sum over a contracted dimension is an
all-reduce. Not here: the rule (`propagation/rules/ragged_dot.py`), steps (`from_program.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord
from shardy_py.propagation.rules import ragged_dot_rule
from shardy_py.reshard.device_groups import replica_groups
from shardy_py.reshard.reshard_plan import OpShardings, reshard_plan
from shardy_py.reshard.steps import Shardings
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_to_work_in, resolve


@dataclass(frozen=True, slots=True)
class RaggedAgreement:
    """operands: the shardings to reshard them to, None: as they are. result: as made; None: as it is.

    group: the first devices whose results are summed; () without a sum.
    """

    operands: tuple[TensorSharding | None, ...]
    result: TensorSharding | None
    group: tuple[int, ...]


def agreement(
    record: OpRecord, operands: Shardings, results: Shardings, meshes: Mapping[str, Mesh]
) -> RaggedAgreement | None:
    """Returns the shardings with which the op is computed by parts; None on no mesh, or on several."""
    name = mesh_to_work_in(operands + results, meshes)
    if name is None or not record.is_static:
        return None
    mesh = resolve(name, meshes)
    types = (*record.operands, *record.results)
    sizes = tuple(prod(size or 0 for size in type_.shape) if type_ else 0 for type_ in types)
    plan = reshard_plan(
        OpShardings(ragged_dot_rule(record), operands, results, sizes, name, mesh), dict(meshes)
    )
    targets = {index: chain[-1] for index, chain in plan.operands}
    made = {index: reshard.made for index, reshard in plan.results}
    axes = tuple(axis for each in plan.all_reduces for axis in each.axes)
    group = tuple(map(int, replica_groups(mesh, axes)[0])) if axes else ()
    return RaggedAgreement(tuple(map(targets.get, range(len(operands)))), made.get(0), group)
