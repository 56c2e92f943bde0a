"""Calls of passes and pipelines by name, as `Program.run` and `Result.partition` take them.

Not here: the passes (`passes/`), their options on the command line (`cli/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from shardy_py.base.errors import ShardyError
from shardy_py.passes import PassCall, known_passes, pass_by_name
from shardy_py.passes.options import check_options
from shardy_py.passes.pipelines import PIPELINES, pipeline_by_name


def pass_calls(name: str, options: Mapping[str, object]) -> tuple[PassCall, ...]:
    """Returns the calls of a pass or pipeline with options by field name.

    Raises:
        ShardyError: unknown pass, pipeline or option.
    """
    row = pass_by_name(name)
    pipeline = pipeline_by_name(name)
    listed = row or pipeline
    if listed is None:
        names = [row.name for row in (*known_passes(), *PIPELINES)]
        raise ShardyError.unknown("pass or pipeline", name, names)
    lists = {option.field_name for option in listed.options if option.default == ()}
    given: dict[str, Any] = {k: tuple(v) if k in lists and _is_list(v) else v for k, v in options.items()}
    check_options(name, listed.options, given)
    if row is not None:
        return (PassCall.of(row, given),)
    assert pipeline is not None
    return pipeline.expand(**given)


def _is_list(value: object) -> TypeGuard[Iterable[object]]:
    return isinstance(value, Iterable) and not isinstance(value, str)
