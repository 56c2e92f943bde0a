"""What the options for debugging and the auto-partitioner change in a pipeline: functions on its calls.

    instrumented(propagation_passes, 1)(dump_directory="out")     the same, with `sdy-save-module` between

Without such an option the calls are those of the pipeline itself. Not here: the pipelines (`pipelines.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shardy_py.passes import Option, OptionValue, PassCall, pass_by_name

Calls = tuple[PassCall, ...]

PROPAGATE, CONSTRAINTS, SINK = (
    "sdy-user-priority-propagate",
    "sdy-apply-sharding-constraints",
    "sdy-sink-data-flow-edges",
)
EDGES, CLOSE, RESHARD = "sdy-add-data-flow-edges", "sdy-close-shardings", "sdy-insert-explicit-reshards"
AUTO, AFTER_AUTO, FORGET = (
    "sdy-auto-partition",
    "sdy-insert-func-call-reshards",
    "sdy-remove-propagation-debug-info",
)
_ENDS_PARTITIONING = frozenset({"canonicalize", "sdy-remove-all-gather-reduce-scatter-for-cmv1"})
"""The passes of which the last one ends the partitioner."""

_DUMP = Option("dump-directory", "", "where to write the module at each stage, in numbered files")
PROPAGATION_OPTIONS = (
    _DUMP,
    Option("debug-sharding-origins", False, "note, in those files, whose shardings each axis came from"),
    Option(
        "debug-propagation-edge-sharding", False, "note, in those files, along which edges each axis moved"
    ),
)
EXPORT_OPTIONS = (
    _DUMP,
    Option("dump-sharding-origins", False, "keep notes of the origins of axes until the files are written"),
    Option("dump-propagation-edges", False, "keep notes of the ways of axes until the files are written"),
)
AUTO_PARTITIONING = Option("enable-auto-partitioning", False, "run the registered auto-partitioner")


def instrumented(expand: Callable[..., Calls], first_index: int = 0) -> Callable[..., Calls]:
    """The pipeline `expand` with the options above; `first_index` is the number of its first file."""

    def expand_with(
        *,
        dump_directory: str = "",
        debug_sharding_origins: bool = False,
        debug_propagation_edge_sharding: bool = False,
        dump_sharding_origins: bool = False,
        dump_propagation_edges: bool = False,
        enable_auto_partitioning: bool = False,
        **options: Any,
    ) -> Calls:
        calls = expand(**options)
        if enable_auto_partitioning:
            calls = _put_before(calls, AFTER_AUTO, _call(AUTO))
        calls = with_notes(
            calls,
            origins=debug_sharding_origins or dump_sharding_origins,
            edges=debug_propagation_edge_sharding or dump_propagation_edges,
        )
        return with_dumps(calls, dump_directory, first_index) if dump_directory else calls

    return expand_with


def with_notes(calls: Calls, *, origins: bool, edges: bool) -> Calls:
    """The calls with notes for debugging, which go again once all files are written."""
    if not origins and not edges:
        return calls
    noted = {"debug_sharding_origins": origins, "debug_propagation_edge_sharding": edges}
    sunk = {f"sink_{name}": value for name, value in noted.items()}
    extra = {CONSTRAINTS: noted, PROPAGATE: noted, SINK: sunk}
    calls = tuple(_with(call, extra.get(call.row.name, {})) for call in calls)
    end = _end_of_partitioning(calls)
    return calls if end is None else (*calls[: end + 1], _call(FORGET), *calls[end + 1 :])


def with_dumps(calls: Calls, directory: str, first_index: int) -> Calls:
    """The calls with one that writes a file after each stage; their numbers follow each other."""
    result: list[PassCall] = []
    index = first_index
    end = _end_of_partitioning(calls)
    is_explicit = any(_is_explicit(call) for call in calls)

    def save(name: str) -> None:
        nonlocal index
        result.append(_call("sdy-save-module", dump_directory=directory, file_name=name, dump_index=index))
        index += 1

    for position, call in enumerate(calls):
        name = call.row.name
        if name == EDGES:
            save("before_propagation")
        elif name == AUTO:
            save("propagation_before_auto_partitioning")
        # Propagation writes files of its own; their number is that of the file to come.
        mine = {"module_dump_directory": directory, "dump_index": index} if name == PROPAGATE else {}
        result.append(_with(call, mine))
        if name == CLOSE:
            save("after_propagation")
        elif _is_explicit(call):
            save("after_explicit_reshards")
        elif position == end and name != CLOSE:
            kind = "partitioner" if is_explicit else "minimal_partitioner"
            save(f"after_{kind}_with_global_shapes")
    return tuple(result)


def _is_explicit(call: PassCall) -> bool:
    return call.row.name == RESHARD and dict(call.options).get("enable_full_version") is True


def _end_of_partitioning(calls: Calls) -> int | None:
    """The position of the last pass that partitions, or else of the one that closes shardings."""
    ends = [i for i, c in enumerate(calls) if c.row.name in _ENDS_PARTITIONING or c.row.name == CLOSE]
    return ends[-1] if ends else None


def _put_before(calls: Calls, name: str, new: PassCall) -> Calls:
    index = next(i for i, call in enumerate(calls) if call.row.name == name)
    return (*calls[:index], new, *calls[index:])


def _with(call: PassCall, options: Mapping[str, OptionValue]) -> PassCall:
    return PassCall.of(call.row, {**dict(call.options), **options}) if options else call


def _call(name: str, **options: OptionValue) -> PassCall:
    row = pass_by_name(name)
    assert row is not None, f"no pass {name}"
    return PassCall.of(row, options)
