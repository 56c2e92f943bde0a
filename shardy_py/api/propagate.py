"""Propagation of a program: options in, a `Result` out; the program itself stays as it is.

    result = propagate(program, Options(explicit_collectives=True))
    result["result 0"].sharding

Not here: the passes (`passes/pipelines.py`), what a result can be asked (`result.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from xdsl.context import Context

from shardy_py.api.arguments import expect
from shardy_py.api.program import Program
from shardy_py.api.result import Result
from shardy_py.collection import without_collection
from shardy_py.dialects.verification import verify_module
from shardy_py.errors import ShardyError, collected_warnings
from shardy_py.passes import pipelines
from shardy_py.passes.recording import recording
from shardy_py.progress import progress as progress_of
from shardy_py.propagation.propagate import STRATEGIES

PROPAGATE = "sdy-user-priority-propagate"


OF_PIPELINE = {
    "dedup_functions_fully": "dedup_functions_fully",
    "conservative": "conservative_propagation",
    "inline_meshes": "inline_meshes",
    "keep_sharding_rules": "keep_sharding_rules",
    "even_boundary": "update_non_divisible_input_output_shardings",
    "for_further_propagation": "avoid_export_for_partitioning",
    "explicit_gather_scatter_batching": "enable_explicit_gather_scatter_batching",
    "explicit_collectives": "enable_insert_explicit_collectives",
    "remove_all_gather_reduce_scatter_for_cmv1": "remove_all_gather_reduce_scatter_for_cmv1",
    "auto_partitioning": "enable_auto_partitioning",
    "debug_sharding_origins": "debug_sharding_origins",
    "debug_propagation_edges": "debug_propagation_edge_sharding",
    "dump_directory": "dump_directory",
}
"""The options of `sdy-propagation-pipeline`, by the fields of `Options`."""
OF_PROPAGATION = {"strategy": "propagation_strategy", "op_priorities": "run_op_priority_propagation"}
"""The further options of the propagation inside it."""


@dataclass(frozen=True, slots=True)
class Options:
    """What `sdy-propagation-pipeline` and the propagation inside it let the user choose.

    strategy: "basic", "aggressive" or "basic-then-aggressive" where axes contend.
    op_priorities: ops in the order of their kinds, elementwise ones first; else all at once.
    conservative: never split an axis, nor cut a dimension unevenly.
    dedup_functions_fully: keep one function for all its calls.
    inline_meshes: write the mesh into each sharding. keep_sharding_rules: leave the rules on the ops.
    even_boundary: cut arguments and results only by axes that divide them evenly.
    for_further_propagation: keep what another round of propagation needs.
    explicit_gather_scatter_batching: make batch dimensions of gathers and scatters explicit first.
    explicit_collectives: insert every reshard, as collectives.
    remove_all_gather_reduce_scatter_for_cmv1: of those, leave those beside matrix products to the products.
    auto_partitioning: run the registered auto-partitioner.
    debug_sharding_origins, debug_propagation_edges: leave attributes that say where shardings came from.
    dump_directory: write the program there between stages; "": do not.
    """

    strategy: str = "aggressive"
    op_priorities: bool = True
    conservative: bool = False
    dedup_functions_fully: bool = False
    inline_meshes: bool = False
    keep_sharding_rules: bool = False
    even_boundary: bool = True
    for_further_propagation: bool = False
    explicit_gather_scatter_batching: bool = False
    explicit_collectives: bool = False
    remove_all_gather_reduce_scatter_for_cmv1: bool = False
    auto_partitioning: bool = False
    debug_sharding_origins: bool = False
    debug_propagation_edges: bool = False
    dump_directory: str = ""

    def __post_init__(self) -> None:
        """Raises `ShardyError` for a strategy that there is not, or a value of another type."""
        for field in fields(self):
            default = cast(object, field.default)
            expect(getattr(self, field.name), type(default), f"{field.name} of the type of {default!r}")
        if self.strategy not in STRATEGIES:
            raise ShardyError(f"expected a strategy among {', '.join(STRATEGIES)}; got: {self.strategy!r}")

    def passes(self) -> pipelines.Calls:
        """The passes to run."""
        row = pipelines.pipeline_by_name("sdy-propagation-pipeline")
        assert row is not None
        calls = row.expand(**self._given(OF_PIPELINE))
        chosen = tuple(self._given(OF_PROPAGATION).items())
        return tuple(
            replace(call, options=(*call.options, *chosen)) if call.row.name == PROPAGATE else call
            for call in calls
        )

    def _given(self, names: Mapping[str, str]) -> dict[str, Any]:
        return {option: getattr(self, field) for field, option in names.items()}


def propagate(
    program: Program, options: Options = Options(), *, record: bool = True, progress: bool = True
) -> Result:
    """Decide every sharding of a copy of `program`.

    record: keep what `Result.explain` and `why_not` need.
    progress: show a bar if standard error is a terminal and it takes more than a second.
    Raises `ShardyError` as the passes do.
    """
    expect(program, Program, "a Program", "Program.parse makes one of text")
    expect(options, Options, "Options such as Options(conservative=True)")
    context = Context()
    calls = options.passes()
    with (
        without_collection(),
        collected_warnings() as warnings,
        recording() if record else nullcontext() as kept,
        progress_of(len(calls), shown=progress) as begin,
    ):
        copy = program.copy()
        for call in calls:
            begin(call.row.name)
            call.build().apply(context, copy.module)
        verify_module(copy.module)
    result = Program(copy.module)
    result.origin = copy.origin
    return Result(
        program=result,
        source=program,
        warnings=tuple(warnings),
        record=kept,
        again=lambda changed: propagate(changed, replace(options, dump_directory=""), progress=progress),
    )
