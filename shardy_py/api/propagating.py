"""Propagates a program with options to a `Result`; the program itself does not change.

    result = propagate(program, Options(enable_insert_explicit_collectives=True))
    result["result 0"].sharding

Annotations of arguments and results that are not kept because they do not divide evenly are warnings:

    weight: the annotation <@mesh, [{"tp"}, {}]> is not kept: dimension 0 of size 30 is not divisible by 4

Not here: the passes (`passes/pipelines.py`), the one that truncates annotations
(`sdy-update-non-divisible-input-output-shardings`), questions about a result (`result.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from shardy_py.api.arguments import expect, expect_flags, program_remedy
from shardy_py.api.program import Program
from shardy_py.api.result import Result
from shardy_py.api.values import Value
from shardy_py.base import releases
from shardy_py.base.errors import Diagnostic, ShardyError, collected_warnings
from shardy_py.base.progress import progress as progress_of
from shardy_py.base.records import dataclass
from shardy_py.base.session import without_collection
from shardy_py.mlir import ir
from shardy_py.mlir.holders import attribute_list_shardings
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import function_name, functions_of
from shardy_py.mlir.text.source import position_of
from shardy_py.passes.options import check_options, options_of
from shardy_py.passes.pipeline_options import PropagationPipelineOptions
from shardy_py.passes.pipelines import PROPAGATION_PIPELINE, Calls
from shardy_py.passes.runner import progress_observer, recording, run_passes
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.meshes import mesh_of
from shardy_py.xla.gspmd.understanding import require_understood

_REMEDY = (
    "choose other axes or another size, or keep it with "
    "Options(update_non_divisible_input_output_shardings=False)"
)


def truncation_warnings(program: Program) -> tuple[Diagnostic, ...]:
    """Returns a warning for each annotated argument and result with an uneven dimension."""
    values: dict[tuple[str, str], Sequence[Value]] = {}
    warnings: list[Diagnostic] = []
    for function, role, index, annotation, number, parts in _uneven(program):
        if (function, role) not in values:
            listed = program.values.arguments if role == "argument" else program.values.results
            values[function, role] = listed(function)
        warnings.append(_warning(values[function, role][index], annotation, number, parts))
    return tuple(warnings)


def _uneven(program: Program) -> Iterator[tuple[str, str, int, TensorSharding, int, int]]:
    """Function, role, index, annotation, dimension and number of parts of each uneven dimension.

    Reads attributes only: the table of values of a large program is expensive.
    """
    for function in functions_of(program.module):
        type_ = function.function_type
        for role, key, types in (
            ("argument", "arg_attrs", type_.inputs),
            ("result", "res_attrs", type_.outputs),
        ):
            given = attribute_list_shardings(function.properties.get(key))
            for index, (annotation, of) in enumerate(zip(given, types.data, strict=False)):
                tensor = tensor_type(of)
                if annotation is None or tensor is None:
                    continue
                mesh = mesh_of(annotation, program.meshes)
                for number, size in enumerate(tensor.shape if annotation.dimensions else ()):
                    parts = total_size(annotation.dimensions[number].axes, mesh)
                    if size is not None and size % parts:
                        yield function_name(function), role, index, annotation, number, parts


def _warning(value: Value, annotation: TensorSharding, number: int, parts: int) -> Diagnostic:
    fact = f"{value.label or value}: the annotation {annotation} is not kept: dimension {number} of size "
    fact += f"{(value.shape or ())[number]} is not divisible by {parts}"
    return Diagnostic(fact, position_of(value.entry.location), "warning", remedy=_REMEDY)


@dataclass(frozen=True)
class Options(PropagationPipelineOptions):
    """Options of `sdy-propagation-pipeline`, under the same names; docs/passes.md describes them.

    >>> Options(propagation_strategy="basic").enable_insert_explicit_collectives
    False
    """

    if not TYPE_CHECKING:  # which knows the keywords

        def __new__(cls, *values: object, **named: object) -> Options:
            """Raises `ShardyError` for an unknown option."""
            known = [option.field_name for option in options_of(Options)]
            for name in named:
                if name not in known:
                    raise ShardyError.unknown("option", name, known, what="Options")
            return object.__new__(cls)

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

    The program was verified when it was made; the copy is not verified again, as XLA does not either.

    record: keep the record that `Result.explain` and `why_not` need.
    progress: show a progress bar if standard error is a terminal and it takes more than a second.

    Raises:
        ShardyError: a pass rejects the program, or its shardings are not those of sdy.
    """
    if isinstance(program, Result):
        raise ShardyError.unexpected(
            "", expected="a Program", got=repr(program), remedy="pass result.source, or result.program"
        )
    expect(program, Program, "a Program", program_remedy)
    expect(options, Options, "Options such as Options(conservative_propagation=True)")
    expect_flags(record=record, progress=progress)
    require_understood(program.module)
    with releases.of(program.release):
        return _propagated(program, options, has_record=record, shows_progress=progress)


def propagating(options: Options, *, shows_progress: bool = True) -> Callable[..., Result]:
    """Returns a function that propagates programs with these options, for `Result.again`.

    It leaves no files, whatever the options are. With `in_place` it changes the program that it is given,
    which saves a copy of one that is needed no longer.
    """
    options = replace(options, dump_directory="")

    def again(changed: Program, *, record: bool = True, in_place: bool = False) -> Result:
        if not in_place:
            return propagate(changed, options, record=record, progress=shows_progress and record)
        with releases.of(changed.release):
            return _propagated(changed, options, has_record=record, shows_progress=False, in_place=True)

    return again


def _propagated(
    program: Program, options: Options, *, has_record: bool, shows_progress: bool, in_place: bool = False
) -> Result:
    calls = options.passes()
    with (
        without_collection(),
        collected_warnings() as warnings,
        recording() if has_record else nullcontext() as kept,
        progress_of(len(calls), shown=shows_progress) as begin,
    ):
        if in_place:
            ir.renew_uses(program.module)
        copy = program if in_place else program.copy()
        run_passes(copy.module, calls, verify="never", observers=(progress_observer(begin),))
    truncated = truncation_warnings(program) if options.update_non_divisible_input_output_shardings else ()
    result = Program(copy.module, program.sources.roots, program.taken)
    result.origin = copy.origin
    return Result(
        program=result,
        source=program,
        warnings=(*truncated, *warnings),
        record=kept,
        again=propagating(options, shows_progress=shows_progress),
        options=options,
    )
