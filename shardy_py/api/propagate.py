"""Propagation of a program: options in, a `Result` out; the program itself stays as it is.

    result = propagate(program, Options(explicit_collectives=True))
    result["result 0"].sharding

Not here: the passes (`passes/pipelines.py`), what a result can be asked (`result.py`).
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace

from xdsl.context import Context

from shardy_py.api.program import Program
from shardy_py.api.result import Result
from shardy_py.dialects.verification import verify_module
from shardy_py.errors import ShardyError, collected_warnings
from shardy_py.passes import PassCall, pipelines
from shardy_py.passes.recording import recording
from shardy_py.progress import progress as progress_of
from shardy_py.propagation.propagate import STRATEGIES

PROPAGATE = "sdy-user-priority-propagate"


@dataclass(frozen=True, slots=True)
class Options:
    """What `sdy-propagation-pipeline` and the propagation inside it let the user choose.

    strategy: "basic", "aggressive" or "basic-then-aggressive" where axes contend.
    conservative: never split an axis, nor cut a dimension unevenly.
    dedup_functions_fully: keep one function for all its calls.
    explicit_gather_scatter_batching: make batch dimensions of gathers and scatters explicit first.
    explicit_collectives: insert every reshard, as collectives.
    remove_all_gather_reduce_scatter_for_cmv1: of those, leave those beside matrix products to the products.
    auto_partitioning: run the registered auto-partitioner.
    """

    strategy: str = "aggressive"
    conservative: bool = False
    dedup_functions_fully: bool = False
    explicit_gather_scatter_batching: bool = False
    explicit_collectives: bool = False
    remove_all_gather_reduce_scatter_for_cmv1: bool = False
    auto_partitioning: bool = False

    def __post_init__(self) -> None:
        """Raises `ShardyError` for a strategy that there is not."""
        if self.strategy not in STRATEGIES:
            raise ShardyError(f"expected a strategy among {', '.join(STRATEGIES)}; got: {self.strategy!r}")

    def passes(self) -> pipelines.Calls:
        """The passes to run."""
        row = pipelines.pipeline_by_name("sdy-propagation-pipeline")
        assert row is not None
        calls = row.expand(
            dedup_functions_fully=self.dedup_functions_fully,
            enable_explicit_gather_scatter_batching=self.explicit_gather_scatter_batching,
            enable_insert_explicit_collectives=self.explicit_collectives,
            remove_all_gather_reduce_scatter_for_cmv1=self.remove_all_gather_reduce_scatter_for_cmv1,
            enable_auto_partitioning=self.auto_partitioning,
        )
        return tuple(self._chosen(call) if call.row.name == PROPAGATE else call for call in calls)

    def _chosen(self, call: PassCall) -> PassCall:
        chosen = (("propagation_strategy", self.strategy), ("conservative_propagation", self.conservative))
        return replace(call, options=(*call.options, *chosen))


def propagate(
    program: Program, options: Options = Options(), *, record: bool = True, progress: bool = True
) -> Result:
    """Decide every sharding of a copy of `program`.

    record: keep what `Result.explain` and `why_not` need.
    progress: show a bar if standard error is a terminal and it takes more than a second.
    Raises `ShardyError` as the passes do.
    """
    copy = program.copy()
    context = Context()
    calls = options.passes()
    with (
        collected_warnings() as warnings,
        recording() if record else nullcontext() as kept,
        progress_of(len(calls), shown=progress) as begin,
    ):
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
        again=lambda changed: propagate(changed, options, record=record, progress=progress),
    )
