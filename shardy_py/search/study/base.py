"""A program before propagation, flattened once: what annotations of its arguments and results do not change.

Not here: the program after propagation (`variant.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import (
    FuncDataFlowEdgeOp,
    ManualComputationOp,
    NamedComputationOp,
    PropagationBarrierOp,
    ShardingGroupOp,
)
from shardy_py.mlir.ir import op_names
from shardy_py.mlir.symbols import functions_of
from shardy_py.ops import TABLE, Control, Storage
from shardy_py.passes.options import UserPriorityPropagateOptions
from shardy_py.passes.pipelines import propagation_passes
from shardy_py.passes.propagate.propagating import user_priority_strategy
from shardy_py.passes.registration import PassCall
from shardy_py.passes.runner import run_passes
from shardy_py.propagation.graph.build import build_program
from shardy_py.propagation.graph.slots import FlatModule
from shardy_py.propagation.propagate import PropagationOptions, propagate
from shardy_py.propagation.rules import rule_of
from shardy_py.propagation.step_tables import StepTables
from shardy_py.sharding import TensorSharding


class Unsupported(Exception):
    """Annotations, or programs, whose figures are only known by propagating from scratch; the reason."""


_DIVIDING = (
    "sdy-update-non-divisible-input-output-shardings",
    "sdy-remove-sub-axes-in-input-output-shardings",
)
_UNSUPPORTED_OPS = frozenset(
    op_class.name
    for op_class in (
        CallOp,
        FuncDataFlowEdgeOp,
        ManualComputationOp,
        NamedComputationOp,
        PropagationBarrierOp,
        ShardingGroupOp,
        UnregisteredOp,
    )
)


@dataclass(frozen=True, slots=True)
class Decided:
    """The shardings that propagation decided: by slot, the number of one; by number, the shardings."""

    numbers: Sequence[int]
    values: Sequence[TensorSharding | None]


@dataclass(eq=False)
class Base:
    """A program that is prepared for propagation.

    program: its slots and steps. function: its only function. strategy: of propagation. tables: what steps of
    one kind do, known from one run to the next. is_divided: whether shardings of arguments and results are
    truncated to axes that divide them.
    """

    program: FlatModule
    function: FuncOp
    strategy: PropagationOptions
    tables: StepTables
    is_divided: bool

    @staticmethod
    def of(module: ModuleOp, calls: Sequence[PassCall]) -> Base:
        """Prepares `module` in place.

        calls: the passes from the program to shardings, one of which propagates.

        Raises:
            Unsupported: the program has calls, loops, manual computations, or several functions.
            ShardyError: a pass rejects the program.
        """
        before, propagating = _until_propagation(calls)
        after = {str(call) for call in calls[len(before) + 1 :]}
        if other := after - {*map(str, propagation_passes()), *_DIVIDING}:
            raise Unsupported(f"options add {', '.join(sorted(other))}")
        run_passes(module, before, verify="never")
        function = _only_function(module)
        options = propagating.row.options_class
        if options is not UserPriorityPropagateOptions:
            raise Unsupported(f"{propagating.row.name} propagates")
        given = cast(Any, UserPriorityPropagateOptions)(**dict(propagating.options))
        deriver = partial(rule_of, conservative_propagation=given.conservative_propagation)
        program = build_program(module, deriver)
        return Base(
            program,
            function,
            user_priority_strategy(given),
            StepTables(program.meshes),
            _DIVIDING[0] in after,
        )

    def decided(self, initial: Mapping[int, TensorSharding | None]) -> Decided:
        """Propagates with other initial shardings of some slots."""
        flat = self.program.flat
        shardings = list(flat.shardings)
        for slot, sharding in initial.items():
            shardings[slot] = sharding
        flat = replace(flat, shardings=shardings)
        propagator = propagate(flat, self.program.meshes, self.strategy, tables=self.tables)
        return Decided(propagator.shardings, propagator.interner.values)


def _until_propagation(calls: Iterable[PassCall]) -> tuple[list[PassCall], PassCall]:
    before: list[PassCall] = []
    for call in calls:
        if call.row.propagates:
            return before, call
        before.append(call)
    raise Unsupported("no pass propagates")


def _only_function(module: ModuleOp) -> FuncOp:
    functions = functions_of(module)
    if len(functions) != 1 or len(functions[0].body.blocks) != 1:
        raise Unsupported("it has several functions or blocks")
    found = op_names(module) & _UNSUPPORTED_OPS
    if found:
        raise Unsupported(f"it has {', '.join(sorted(found))}")
    _check_ops(functions[0])
    return functions[0]


def _check_ops(function: FuncOp) -> None:
    known: dict[type[Operation], bool] = {}
    for op in function.body.blocks[0].ops:
        op_class = op.__class__
        if op_class not in known:
            row = TABLE[op.name]
            is_plain = (
                row.control in (Control.NONE, Control.DEFINITION) and row.storage is not Storage.ELEMENT
            )
            known[op_class] = is_plain and row.collective is None and not row.keeps_divisible
        if not known[op_class]:
            raise Unsupported(f"it has {op.name}")
