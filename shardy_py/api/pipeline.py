"""START HERE: from the text of a program to the same program with all shardings, stage by stage.

    text -> read -> prepare -> propagate -> finish -> write -> text
                                                   -> report -> a table of what was decided
                                                   -> partition -> the program of each device

Each stage changes the module in place and returns it; `decide_shardings` runs all of them. `communication`
and `partition` leave it as it is, and return what they made.
`passes/pipelines.py` lists the passes of each stage; docs/design/architecture.md describes the layers below.
`cli/` has the commands.

    print(write(finish(propagate(prepare(read(text))))))
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pipelines
from shardy_py.passes.partitioned import partition
from shardy_py.passes.pipeline_options import PartitioningOptions
from shardy_py.passes.runner import run_passes
from shardy_py.report import summary_of
from shardy_py.report.communication.of_program import communication

__all__ = [
    "collectives",
    "communication",
    "decide_shardings",
    "finish",
    "partition",
    "prepare",
    "propagate",
    "read",
    "report",
    "write",
]


def read(text: str, file: str = "-") -> ModuleOp:
    """Parses and verifies a module; `file` is its name in diagnostics."""
    return parse_module(text, file, verified=True)


def prepare(module: ModuleOp) -> ModuleOp:
    """Adds data-flow edges, which hold shardings, and inlines calls as named computations."""
    return run_passes(module, pipelines.import_passes() + pipelines.inline_passes())


def propagate(module: ModuleOp) -> ModuleOp:
    """Propagates the shardings of the user to a fixed point of all sharding rules."""
    return run_passes(module, pipelines.propagate_passes())


def finish(module: ModuleOp) -> ModuleOp:
    """Restores functions and calls, removes data-flow edges, and inserts reshards."""
    return run_passes(module, pipelines.outline_passes() + pipelines.export_passes(PartitioningOptions()))


def collectives(module: ModuleOp) -> ModuleOp:
    """Replaces the reshards of a finished program by collectives."""
    return run_passes(module, pipelines.collective_passes())


def write(module: ModuleOp) -> str:
    """The text of the module as MLIR prints it."""
    return print_module(module)


def report(module: ModuleOp) -> str:
    """Returns tables of the values sharded along each axis, and of the bytes on each device."""
    return str(summary_of(module))


def decide_shardings(text: str, file: str = "-") -> str:
    """All stages: what `sdy-opt --sdy-propagation-pipeline` prints."""
    return write(finish(propagate(prepare(read(text, file)))))
