"""The changes that debug options and the auto-partitioner make to a pipeline: functions on its calls.

    with_dumps(import_passes(), "out", 0)     the same, with `sdy-save-module` between

Not here: the pipelines and their options (`pipelines.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.passes import PassCall, pass_call
from shardy_py.passes.options import OptionValue

Calls = tuple[PassCall, ...]

PROPAGATE, SINK = "sdy-user-priority-propagate", "sdy-sink-data-flow-edges"
CONSTRAINTS = "sdy-apply-sharding-constraints"
EDGES, CLOSE, RESHARD = "sdy-add-data-flow-edges", "sdy-close-shardings", "sdy-insert-explicit-reshards"
AUTO, AFTER_AUTO = "sdy-auto-partition", "sdy-insert-func-call-reshards"
PER_INSTRUCTION = "sdy-per-instruction-partitioning"
_ENDS_PARTITIONING = frozenset({"canonicalize", "sdy-remove-all-gather-reduce-scatter-for-cmv1", CLOSE})
"""The passes of which the last one in a pipeline ends the partitioner."""


def with_auto_partitioner(calls: Calls) -> Calls:
    """The calls with the registered auto-partitioner before the reshards of calls."""
    index = next(i for i, call in enumerate(calls) if call.row.name == AFTER_AUTO)
    return (*calls[:index], pass_call(AUTO), *calls[index:])


def with_debug_info(calls: Calls, *, origins: bool, edges: bool) -> Calls:
    """The calls with debug information, which is removed again after all dumps."""
    if not origins and not edges:
        return calls
    recorded: dict[str, OptionValue] = {
        "debug_sharding_origins": origins,
        "debug_propagation_edge_sharding": edges,
    }
    sunk = {f"sink_{name}": value for name, value in recorded.items()}
    extra = {CONSTRAINTS: recorded, PROPAGATE: recorded, SINK: sunk}
    calls = tuple(call.with_options(extra.get(call.row.name, {})) for call in calls)
    end = _end_of_partitioning(calls)
    if end is None:
        return calls
    return (*calls[: end + 1], pass_call("sdy-remove-propagation-debug-info"), *calls[end + 1 :])


def with_dumps(calls: Calls, directory: str, first_index: int) -> Calls:
    """The calls with one that writes a file after each stage, numbered from `first_index`."""
    result: list[PassCall] = []
    index = first_index
    end = _end_of_partitioning(calls)
    is_alone = any(call.row.name == PER_INSTRUCTION for call in calls)
    is_explicit = any(_is_explicit(call) for call in calls) and not is_alone

    def save(name: str) -> None:
        nonlocal index
        options = {"dump_directory": directory, "file_name": name, "dump_index": index}
        result.append(pass_call("sdy-save-module", **options))
        index += 1

    for position, call in enumerate(calls):
        name = call.row.name
        if name == EDGES:
            save("before_propagation")
        elif name == AUTO:
            save("propagation_before_auto_partitioning")
        elif name == PER_INSTRUCTION:
            save("before_per_instruction_partitioning")
        if name == PROPAGATE:
            # Propagation writes dumps of its own under the number of the next file.
            call = call.with_options({"module_dump_directory": directory, "dump_index": index})
        result.append(call)
        if name == CLOSE:
            save("after_propagation")
        elif name == PER_INSTRUCTION:
            save("after_per_instruction_partitioning")
        elif is_explicit and _is_explicit(call):
            save("after_explicit_reshards")
        elif position == end:
            kind = "partitioner" if is_explicit else "minimal_partitioner"
            save(f"after_{kind}_with_global_shapes")
    return tuple(result)


def _is_explicit(call: PassCall) -> bool:
    return call.row.name == RESHARD and dict(call.options).get("enable_full_version") is True


def _end_of_partitioning(calls: Sequence[PassCall]) -> int | None:
    """The position of the last pass that partitions, or else of the one that closes shardings."""
    ends = [i for i, call in enumerate(calls) if call.row.name in _ENDS_PARTITIONING]
    return ends[-1] if ends else None
