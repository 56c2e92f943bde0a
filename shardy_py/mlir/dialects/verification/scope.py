"""The meshes, symbols and manual axes visible to an op.

Ops of a module within the same manual computations share a `Scope`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from itertools import chain

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy.attributes import MeshAttr
from shardy_py.mlir.dialects.sdy.ops import ManualComputationOp, MeshOp
from shardy_py.sharding import Mesh, TensorSharding


@dataclass(frozen=True)
class Scope:
    """The place of an op.

    module: the nearest module around it.
    manual_axes: the manual computation that has bound each axis, the innermost where several have.
    memory: signatures verified in scopes with equal axes, for the driver.
    """

    module: ModuleOp
    manual_axes: Mapping[str, ManualComputationOp] = field(default_factory=dict[str, ManualComputationOp])
    memory: dict[tuple[str, ...], dict[object, object]] = field(
        default_factory=dict[tuple[str, ...], dict[object, object]]
    )

    @classmethod
    def of(cls, op: Operation) -> Scope | None:
        """The scope of an op; None if it is in no module."""
        around: list[Operation] = []
        parent = op.parent_op()
        while parent is not None and not isinstance(parent, ModuleOp):
            around.append(parent)
            parent = parent.parent_op()
        if parent is None:
            return None
        scope = cls(parent)
        for outer in reversed(around):
            scope = scope.inside(outer)
        return scope

    @cached_property
    def meshes(self) -> dict[str, Mesh]:
        """The meshes of the module by name, the first where a name is taken twice."""
        by_name: dict[str, Mesh] = {}
        for op in _ops_of(self.module):
            if isinstance(op, MeshOp) and isinstance(op.properties.get("mesh"), MeshAttr):
                by_name.setdefault(op.sym_name.data, op.mesh.data)
        return by_name

    @cached_property
    def symbols(self) -> dict[str, Operation]:
        """The symbols of the module by name, the first where a name is taken twice."""
        by_name: dict[str, Operation] = {}
        for op in _ops_of(self.module):
            if (name := symbol_name(op)) is not None:
                by_name.setdefault(name, op)
        return by_name

    def mesh(self, sharding: TensorSharding) -> Mesh | None:
        """The mesh that a sharding refers to or holds; None if there is none of its name."""
        return self.meshes.get(sharding.mesh) if isinstance(sharding.mesh, str) else sharding.mesh

    def inside(self, op: Operation) -> Scope:
        """The scope of the ops in the regions of `op`."""
        if isinstance(op, ModuleOp):
            return Scope(op)
        if isinstance(op, ManualComputationOp):
            axes = {**self.manual_axes, **dict.fromkeys(op.manual_axes.data, op)}
            return replace(self, manual_axes=axes)
        return self

    @cached_property
    def known(self) -> dict[object, object]:
        """Signatures verified in scopes with the same manual axes."""
        return self.memory.setdefault(tuple(self.manual_axes), {})


def _ops_of(module: ModuleOp) -> Iterator[Operation]:
    """The ops of a module, which may still turn out to have no region or block, or several."""
    return chain.from_iterable(block.ops for region in module.regions for block in region.blocks)


def symbol_name(op: Operation) -> str | None:
    """The name that an op defines in its symbol table, None if it defines none."""
    name: Attribute | None = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return name.data if isinstance(name, StringAttr) else None
