"""The flat program of a module together with its IR; writes the shardings that propagation decided.

Not here: how it is built (`build.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from shardy_py.graph.holders import Holder, write_all
from shardy_py.ops import OpRecord
from shardy_py.propagation.flat import FlatProgram
from shardy_py.sharding import Mesh, TensorSharding


@dataclass(frozen=True, slots=True)
class Program:
    """The flat program of a module, with the IR of its slots and steps.

    flat: slots and steps.
    meshes: by symbol.
    step_ops: by step, its op.
    values: by slot, its value; None for function results.
    holders: by slot, the place of its sharding.
    slot_of: the slot by the identity of a value.
    function_results: by the identity of a function, the slots of its results.
    dead_ops: in the order in which they can be erased.
    without_rule: for each kind of op without a rule, the first such op with its record.
    """

    module: ModuleOp
    flat: FlatProgram
    meshes: dict[str, Mesh]
    step_ops: Sequence[Operation]
    values: Sequence[SSAValue | None]
    holders: Sequence[Holder | None]
    slot_of: Mapping[int, int]
    function_results: Mapping[int, tuple[int, ...]]
    dead_ops: Sequence[Operation]
    without_rule: Sequence[tuple[Operation, OpRecord]]

    def write(
        self,
        shardings: Sequence[TensorSharding | None],
        written: Sequence[TensorSharding | None] | None = None,
    ) -> None:
        """Write the shardings, by slot, that differ from those in the IR, and erase the dead ops.

        written: by slot, the shardings in the IR; None: the initial ones.
        """
        old = self.flat.shardings if written is None else written
        write_all(
            (holder, new)
            for holder, new, before in zip(self.holders, shardings, old, strict=True)
            if new is not before and new is not None and holder is not None and new != before
        )
        for op in self.dead_ops:
            if op.parent is not None:  # otherwise it was erased with the op around it
                op.detach()
                op.erase()
