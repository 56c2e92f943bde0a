"""Propagates a program with options to a `Result`; the program itself does not change.

    result = propagate(program, Options(enable_insert_explicit_collectives=True))
    result["result 0"].sharding

Not here: the passes (`passes/pipelines.py`), questions about a result (`result.py`).
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace

from shardy_py.api.arguments import expect
from shardy_py.api.kept import truncation_warnings
from shardy_py.api.program import Program
from shardy_py.api.result import Result
from shardy_py.errors import collected_warnings
from shardy_py.passes.options import check_options, options_of
from shardy_py.passes.pipelines import PROPAGATION_PIPELINE, Calls, PropagationPipelineOptions
from shardy_py.passes.runner import progress_observer, recording, run_passes
from shardy_py.progress import progress as progress_of
from shardy_py.session import without_collection


@dataclass(frozen=True)
class Options(PropagationPipelineOptions):
    """Options of `sdy-propagation-pipeline`, under the same names; docs/passes.md describes them.

    >>> Options(propagation_strategy="basic").enable_insert_explicit_collectives
    False
    """

    def __post_init__(self) -> None:
        """Raises `ShardyError` for a value of another type, or an unknown choice."""
        check_options("Options", options_of(Options), vars(self))

    def passes(self) -> Calls:
        """Returns the passes to run."""
        return PROPAGATION_PIPELINE.expand_with(self)


def propagate(
    program: Program, options: Options = Options(), *, record: bool = True, progress: bool = True
) -> Result:
    """Returns a copy of `program` with every sharding decided.

    record: keep the record that `Result.explain` and `why_not` need.
    progress: show a progress bar if standard error is a terminal and it takes more than a second.

    Raises:
        ShardyError: a pass rejects the program.
    """
    expect(program, Program, "a Program", "Program.parse reads text")
    expect(options, Options, "Options such as Options(conservative_propagation=True)")
    calls = options.passes()
    with (
        without_collection(),
        collected_warnings() as warnings,
        recording() if record else nullcontext() as kept,
        progress_of(len(calls), shown=progress) as begin,
    ):
        copy = program.copy()
        run_passes(copy.module, calls, observers=(progress_observer(begin),))
    truncated = truncation_warnings(program) if options.update_non_divisible_input_output_shardings else ()
    result = Program(copy.module)
    result.origin = copy.origin
    return Result(
        program=result,
        source=program,
        warnings=(*truncated, *warnings),
        record=kept,
        again=lambda changed: propagate(changed, replace(options, dump_directory=""), progress=progress),
    )
