"""Verifier of propagation edges on their op.

Not here: the steps by themselves (`verify_steps.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.sdy.ops import DataFlowEdgeOp, FuncDataFlowEdgeOp
from shardy_py.dialects.sdy.value_sharding import sharding_of
from shardy_py.dialects.verification.faults import Fault, Faults
from shardy_py.dialects.verification.scope import Scope
from shardy_py.sharding import EdgeValueRef, Mesh, PropagationStep


def edge_faults(steps: Sequence[PropagationStep], op: Operation, scope: Scope) -> Faults:
    """Edges on an op:

    - one of the values that they lead from or to has a sharding; all that have one share a mesh
    - edge by edge: the mesh has the axis; the op has the values (data-flow edges represent others)
    """
    shardings = [
        found
        for step in steps
        for edge in step.edges
        for reference in (edge.source, *edge.targets)
        if (value := _value(reference, op)) is not None and (found := sharding_of(value)) is not None
    ]
    if not shardings:
        yield Fault("expected propagation edges attr to reference a sharding.")
        return
    mesh = _common_mesh([scope.mesh(sharding) for sharding in shardings])
    if mesh is None:
        yield Fault("expected a common mesh for propagation edges attr.")
        return
    has_all_values = isinstance(op, DataFlowEdgeOp | FuncDataFlowEdgeOp)
    for step in steps:
        for edge in step.edges:
            if edge.axis.name not in mesh.sizes:
                yield Fault("expected axis ref to be in one of the meshes")
                return
            for reference in () if has_all_values else (edge.source, *edge.targets):
                if _value(reference, op) is None:
                    yield Fault(_out_of_range(reference, op))
                    return


def _values(reference: EdgeValueRef, op: Operation) -> Sequence[SSAValue]:
    return op.operands if reference.node == "operand" else op.results


def _value(reference: EdgeValueRef, op: Operation) -> SSAValue | None:
    values = _values(reference, op)
    return values[reference.index] if 0 <= reference.index < len(values) else None


def _out_of_range(reference: EdgeValueRef, op: Operation) -> str:
    what = "an operand" if reference.node == "operand" else "a result"
    count = len(_values(reference, op))
    return f"expected a value ref to have {what} index in range [0, {count}), got: {reference.index}"


def _common_mesh(meshes: Sequence[Mesh | None]) -> Mesh | None:
    """The mesh that all are but for the empty ones, which count only if all are empty."""
    filled = [mesh for mesh in meshes if mesh is None or mesh.axes or mesh.device_ids]
    if not filled:
        return meshes[0]
    return filled[0] if all(mesh == filled[0] for mesh in filled) else None
