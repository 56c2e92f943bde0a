"""The propagation passes: from a module to its flat form, through propagation, and back.

Not here: propagation on plain data (`propagation/propagate.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.base.errors import located, warn
from shardy_py.base.files import write_whole
from shardy_py.mlir.dialects import print_module
from shardy_py.mlir.dialects.stablehlo import CustomCallOp
from shardy_py.mlir.dialects.traits import is_terminator
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.movements import is_recording, note
from shardy_py.mlir.op_errors import place_of
from shardy_py.mlir.record import record_of
from shardy_py.mlir.text.source import position_of
from shardy_py.ops import OpRecord
from shardy_py.passes.export.removal import drop_sharding_rules
from shardy_py.passes.import_.constraints import synchronize_groups
from shardy_py.passes.options import (
    AggressivePropagateOptions,
    ConservativeOptions,
    OpPriorityPropagateOptions,
    PropagateOptions,
    SaveModuleOptions,
    UserPriorityPropagateOptions,
)
from shardy_py.passes.propagate.debug_trail import DebugTrail
from shardy_py.passes.propagate.rule_attributes import derived_rule_attribute
from shardy_py.propagation.fixpoint import Propagator
from shardy_py.propagation.graph.build import build_program
from shardy_py.propagation.graph.run_record import Propagation
from shardy_py.propagation.graph.slots import FlatModule
from shardy_py.propagation.journal import Journal
from shardy_py.propagation.propagate import PropagationOptions, propagate
from shardy_py.propagation.rules import rule_of
from shardy_py.propagation.rules.derive import unknown_warning
from shardy_py.sharding import TensorSharding


def _propagate(
    module: ModuleOp, options: PropagateOptions, strategy: PropagationOptions, *, dump_index: int = 0
) -> None:
    """Propagates through `module`; `dump_index`: the number of the files for `module-dump-directory`."""
    debug = DebugTrail.asked_for(module, options)
    synchronize_groups(module)
    conservative = options.conservative_propagation
    program = build_program(module, partial(rule_of, conservative_propagation=conservative))
    journal = Journal() if debug is not None or is_recording() else None
    if journal is not None:
        note(Propagation.of(program, journal))
    warn_of_unknown_ops(program.without_rule)
    written: Sequence[TensorSharding | None] | None = None

    def write(propagator: Propagator) -> None:
        nonlocal written
        values = propagator.interner.values
        shardings = [values[number] for number in propagator.shardings]
        del propagator  # what it reads by is freed before shardings are attributes: both are large
        program.write(shardings, written)
        written = shardings

    def dump(propagator: Propagator, priority: int) -> None:
        write(propagator)
        write_rules(program)
        name = f"propagation_after_user_priority_{priority}"
        save_module(module, SaveModuleOptions(options.module_dump_directory, name, dump_index))

    strategy = replace(strategy, conservative_propagation=conservative)
    between = dump if options.module_dump_directory else None
    write(propagate(program.flat, program.meshes, strategy, between=between, journal=journal))
    if debug is not None and journal is not None:
        debug.replay(journal, program)
        debug.write()
    if options.keep_sharding_rules:
        write_rules(program)
    else:
        drop_sharding_rules(module)


def warn_of_unknown_ops(without_rule: Iterable[tuple[Operation, OpRecord]]) -> None:
    """Warns about the first custom call, and about the first other op, without a rule."""
    seen: set[bool] = set()
    for op, record in without_rule:
        message = unknown_warning(record)
        is_call = record.name == CustomCallOp.name
        if message is not None and is_call not in seen and not is_terminator(op):
            seen.add(is_call)
            warn(message, position_of(op.location))


def write_rules(program: FlatModule) -> None:
    """Attaches rules to the ops that propagation visits, unless they have one."""
    kinds = program.flat.kinds
    attributes = [
        None if kind.rule is None or kind.is_edge or kind.is_barrier else derived_rule_attribute(kind.rule)
        for kind in kinds
    ]
    for op, kind in zip(program.step_ops, program.flat.step_kinds, strict=True):
        attribute = attributes[kind]
        if attribute is not None:
            op.attributes.setdefault(RULE, attribute)


def basic_propagate(module: ModuleOp, options: PropagateOptions) -> None:
    """`sdy-basic-propagate`: propagates axes on which all tensors of an op agree.

    before: %0 = stablehlo.add %arg0, %arg1             %arg0: [{"a", ?}, {?}]
    after:  %0 has [{"a", ?}, {?}], and so has %arg1
    """
    strategy = PropagationOptions(
        "basic", run_op_priority_propagation=False, run_user_priority_propagation=False
    )
    _propagate(module, options, strategy)


def aggressive_propagate(module: ModuleOp, options: AggressivePropagateOptions) -> None:
    """`sdy-aggressive-propagate`: propagates axes and resolves conflicts between factors.

    before: %0 = stablehlo.dot_general %arg0, %arg1     %arg0: [{"a", ?}, {?}]   %arg1: [{?}, {"a", ?}]
    after:  %0 has [{"a", ?}, {?}]: the larger operand takes precedence, or the first of equal ones
    """
    strategy = PropagationOptions(
        options.propagation_strategy, run_op_priority_propagation=False, run_user_priority_propagation=False
    )
    _propagate(module, options, strategy)


def op_priority_propagate(module: ModuleOp, options: OpPriorityPropagateOptions) -> None:
    """`sdy-op-priority-propagate`: propagates through pass-through ops first.

    before: dot(transpose(%arg0), %arg1), both arguments sharded by "a"
    after:  the transpose follows %arg0 before the dot, with both its operands sharded, is decided
    """
    strategy = PropagationOptions(
        options.propagation_strategy, options.run_op_priority_propagation, run_user_priority_propagation=False
    )
    _propagate(module, options, strategy)


def user_priority_propagate(module: ModuleOp, options: UserPriorityPropagateOptions) -> None:
    """`sdy-user-priority-propagate`: propagates dimensions of priority 0 first, then 1, and so on.

    before: %0 = stablehlo.add %arg0, %arg1     %arg0: [{"a"}p1, {?}]   %arg1: [{?}, {"a", ?}]
    after:  %0 has [{?}, {"a", ?}]: nothing of %arg0 counts until priority 0 is done
    """
    _propagate(module, options, user_priority_strategy(options), dump_index=options.dump_index)


def user_priority_strategy(options: UserPriorityPropagateOptions) -> PropagationOptions:
    """The options with which the pass propagates."""
    return PropagationOptions(
        options.propagation_strategy,
        options.run_op_priority_propagation,
        conservative_propagation=options.conservative_propagation,
    )


def populate_op_sharding_rules(module: ModuleOp, options: ConservativeOptions) -> None:
    """`sdy-populate-op-sharding-rules`: attaches the sharding rule of each op as an attribute.

    before: %0 = stablehlo.negate %arg0 : tensor<8xf32>
    after:  %0 = stablehlo.negate %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>} : ...
    """
    without_rule: list[tuple[Operation, OpRecord]] = []
    for inner in walk_pre_order(module, include_root=False):
        if RULE not in inner.attributes:
            record = record_of(inner)
            with located(place_of(inner)):
                rule = rule_of(record, conservative_propagation=options.conservative_propagation)
            if rule is not None:
                inner.attributes[RULE] = derived_rule_attribute(rule)
            else:
                without_rule.append((inner, record))
    warn_of_unknown_ops(without_rule)


def save_module(module: ModuleOp, options: SaveModuleOptions) -> None:
    """`sdy-save-module`: writes the module to a file, for debugging.

    dump-directory=out file-name=after_propagation dump-index=3      out/03.after_propagation.mlir

    A file that cannot be written is reported as a warning. Not here: which pipelines save what, and when
    (`pipelines.py`).
    """
    if not options.dump_directory:
        return
    number = f"{options.dump_index:02}." if options.dump_index >= 0 else ""
    path = Path(options.dump_directory) / f"{number}{options.file_name}.mlir"
    try:
        write_whole(str(path), print_module(module), follows_links=False)
    except (OSError, ValueError) as error:
        warn(f"error when writing file {path}: {getattr(error, 'strerror', None) or error}")
