"""START HERE: from the text of a program to the same program with every sharding decided, stage by stage.

    text -> read -> prepare -> propagate -> finish -> write -> text
                                                   -> report -> a table of what was decided

Each stage takes the module, changes it in place and returns it; `decide_shardings` is all of them. The passes
behind each stage are in `passes/pipelines.py`; what they rest on is in docs/design/architecture.md. The
command over the same passes is `cli/`.

    print(write(finish(propagate(prepare(read(text))))))
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.dialects import parse_module, print_module
from shardy_py.dialects.verification import verify_module
from shardy_py.graph.cloning import clone
from shardy_py.graph.movements import carried_over, recorded
from shardy_py.ir import walk_pre_order
from shardy_py.partition.cost import DEFAULT, CostModel
from shardy_py.passes import pipelines
from shardy_py.passes.runner import run_passes
from shardy_py.report import summary_of
from shardy_py.report.communication import CommunicationReport, communication_report


def read(text: str, file: str = "-") -> ModuleOp:
    """The module that the text spells, verified; `file` is its name in diagnostics."""
    module = parse_module(text, file)
    verify_module(module)
    return module


def prepare(module: ModuleOp) -> ModuleOp:
    """Makes every flow of data an op with a sharding of its own, and every call part of its caller."""
    return run_passes(module, pipelines.import_passes() + pipelines.inline_passes())


def propagate(module: ModuleOp) -> ModuleOp:
    """Decides the shardings: from what the user fixed to a fixed point of all sharding rules."""
    return run_passes(module, pipelines.propagate_passes())


def finish(module: ModuleOp) -> ModuleOp:
    """Restores functions and calls, removes what propagation needed, inserts the reshards that are left."""
    return run_passes(
        module, pipelines.outline_passes() + pipelines.export_passes(pipelines.PartitioningOptions())
    )


def collectives(module: ModuleOp) -> ModuleOp:
    """Makes all communication of a finished program visible: every reshard, as collectives."""
    return run_passes(module, pipelines.collective_passes())


def write(module: ModuleOp) -> str:
    """The text of the module as MLIR prints it."""
    return print_module(module)


def report(module: ModuleOp) -> str:
    """Returns tables of the values sharded along each axis, and of the bytes on each device."""
    return str(summary_of(module))


def communication(
    module: ModuleOp, model: CostModel = DEFAULT, record: Iterable[object] = ()
) -> tuple[ModuleOp, CommunicationReport]:
    """A copy of a finished program with its communication as collectives, and the report on it.

    record: what the passes noted that made the program, so that the report names the causes of reshards.
    The copy is not verified: collectives may stand where an op allows no other, as in `async_start`.
    """
    origin: dict[SSAValue, SSAValue] = {}
    copy = cast(ModuleOp, clone(module, origin))
    originals = dict(zip(walk_pre_order(copy), walk_pre_order(module), strict=True))
    with recorded() as events:
        run_passes(copy, pipelines.collective_passes(), verify="never")
    return copy, communication_report(copy, model, (*carried_over(record, origin), *events), originals)


def decide_shardings(text: str, file: str = "-") -> str:
    """All stages: what `sdy-opt --sdy-propagation-pipeline` prints."""
    return write(finish(propagate(prepare(read(text, file)))))
