"""The pipelines: which passes run in which order, as functions from options to tuples of calls.

Not here: the passes (`__init__.py` lists them). Like the list, this module loads no xDSL.
`shardy_py.pipeline` runs them from Python, `sdy-opt` by flag.

>>> [call.row.name for call in import_passes()][:2]
['symbol-dce', 'sdy-lift-inlined-meshes']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shardy_py.passes import Option, OptionValue, PassCall, pass_by_name
from shardy_py.passes.instrumentation import (
    AUTO_PARTITIONING,
    EXPORT_OPTIONS,
    PROPAGATION_OPTIONS,
    instrumented,
)

Calls = tuple[PassCall, ...]


def import_passes(
    *, dedup_functions_fully: bool = False, enable_explicit_gather_scatter_batching: bool = False
) -> Calls:
    """From the user's program to one where every flow of data is an op with a sharding of its own."""
    calls = _calls(
        "symbol-dce",
        "sdy-lift-inlined-meshes",
        "sdy-remove-size-one-axes",
        "sdy-propagate-sharding-from-func-to-call",
        "sdy-constant-or-scalar-splitter",
    )
    if enable_explicit_gather_scatter_batching:
        calls += _calls("sdy-explicit-gather-scatter-batching")
    calls += _calls("symbol-dce", "sdy-manual-axes-cleanup", "sdy-add-data-flow-edges")
    return calls + _constraint_passes() if dedup_functions_fully else calls


def inline_passes(*, dedup_functions_fully: bool = False) -> Calls:
    """From calls to one nest of regions that propagation sees through, or to edges between functions."""
    if dedup_functions_fully:
        return _calls("sdy-add-func-data-flow-edges", "sdy-pre-order-funcs")
    return (
        *_calls("sdy-flatten-call-graph", "symbol-dce", "sdy-import-func-calls", "symbol-dce"),
        *_constraint_passes(),
        *_calls("sdy-pre-order-funcs"),
    )


def propagate_passes(*, conservative_propagation: bool = False) -> Calls:
    """The propagation itself; the rules stay for what follows."""
    conservative = {"conservative_propagation": True} if conservative_propagation else {}
    return (_call("sdy-user-priority-propagate", keep_sharding_rules=True, **conservative),)


def outline_passes(*, dedup_functions_fully: bool = False) -> Calls:
    """Back to functions and calls; functions whose shardings agree become one."""
    if dedup_functions_fully:
        calls = _calls("sdy-propagate-to-func-results", "sdy-sink-func-data-flow-edges")
    else:
        calls = _calls("sdy-export-named-computations", "sdy-propagate-to-func-results")
    return calls + _calls("sdy-unflatten-call-graph", "symbol-dce", "sdy-insert-func-call-reshards")


def export_passes(
    *,
    keep_sharding_rules: bool = False,
    avoid_export_for_partitioning: bool = False,
    update_non_divisible_input_output_shardings: bool = True,
    inline_meshes: bool = True,
    enable_insert_explicit_collectives: bool = False,
    remove_all_gather_reduce_scatter_for_cmv1: bool = False,
    avoid_reshards_on_calls: bool = False,
) -> Calls:
    """From what propagation left to what a partitioner takes: closed shardings, reshards, no helper ops.

    With explicit collectives every reshard there is becomes collectives, and none is left to the partitioner.
    `avoid_reshards_on_calls` has no effect, as in Shardy: reshards of calls have a pass of their own.
    """
    calls = _calls("sdy-constant-or-scalar-merger", "sdy-sink-data-flow-edges")
    if not avoid_export_for_partitioning:
        calls += _calls("sdy-remove-sharding-groups", "sdy-sharding-constraint-to-reshard")
    if update_non_divisible_input_output_shardings:
        calls += _calls(
            "sdy-update-non-divisible-input-output-shardings", "sdy-remove-sub-axes-in-input-output-shardings"
        )
    calls += _calls("sdy-close-shardings")
    if not avoid_export_for_partitioning:
        calls += _reshard_passes(are_explicit=enable_insert_explicit_collectives)
        if enable_insert_explicit_collectives and remove_all_gather_reduce_scatter_for_cmv1:
            calls += _calls("sdy-remove-all-gather-reduce-scatter-for-cmv1")
    if not keep_sharding_rules:
        calls += _calls("sdy-drop-sharding-rules")
    if inline_meshes and not avoid_export_for_partitioning:
        calls += _calls("sdy-inline-meshes")
    return calls


def round_trip_import_passes() -> Calls:
    """From XLA's HLO with Shardy's attributes in frontend attributes to sdy."""
    return _calls(
        "symbol-dce",
        "stablehlo-ext-canonicalize-from-hlo-import",
        "xla-sdy-round-trip-import-shardy-attrs",
        "xla-sdy-round-trip-shard-map-import",
        "xla-sdy-import-sdy-custom-calls",
    )


def stablehlo_import_passes(
    *,
    mesh_axes: tuple[str, ...] = (),
    allow_propagation_to_args: tuple[str, ...] = (),
    allow_propagation_to_results: tuple[str, ...] = (),
) -> Calls:
    """From a dump with GSPMD's shardings, or with Shardy's attributes, to sdy."""
    shardings = _call(
        "xla-sdy-import-shardings",
        mesh_axes=mesh_axes,
        allow_propagation_to_args=allow_propagation_to_args,
        allow_propagation_to_results=allow_propagation_to_results,
    )
    return (
        *_calls("stablehlo-ext-canonicalize-from-hlo-import"),
        shardings,
        *_calls("xla-sdy-stablehlo-round-trip-shard-map-import"),
        *round_trip_import_passes(),
    )


def stablehlo_export_passes(
    *, add_missing_sharding_to_control_flow: bool = False, enable_hlo_sharding_v3: bool = False
) -> Calls:
    """From sdy to a program with GSPMD's shardings."""
    return (
        *_calls("xla-sdy-export-ops", "xla-sdy-stablehlo-round-trip-shard-map-export"),
        _call(
            "xla-sdy-stablehlo-export-shardings",
            add_missing_sharding_to_control_flow=add_missing_sharding_to_control_flow,
            enable_hlo_sharding_v3=enable_hlo_sharding_v3,
        ),
    )


def collective_passes() -> Calls:
    """From a propagated program to one with all its communication in it, as collectives."""
    return (
        *_calls("sdy-sharding-constraint-to-reshard", "sdy-verify-unreduced-axes"),
        *_explicit_reshard_passes(),
        _call("canonicalize", enable_patterns=("sdy-collective",)),
    )


def round_trip_export_passes() -> Calls:
    """From sdy to a program for XLA's HLO that keeps all of it in frontend attributes."""
    return _calls(
        "sdy-lift-inlined-meshes",
        "xla-sdy-round-trip-export-ops",
        "xla-sdy-round-trip-shard-map-export",
        "xla-sdy-round-trip-export-shardy-attrs",
        "xla-sdy-stablehlo-export-shardings",
    )


def propagation_passes(
    *,
    dedup_functions_fully: bool = False,
    enable_explicit_gather_scatter_batching: bool = False,
    conservative_propagation: bool = False,
    inline_meshes: bool = False,
    **export_options: bool,
) -> Calls:
    """The whole way: import, inline, propagate, outline, export, whose options are the other ones."""
    return (
        *import_passes(
            dedup_functions_fully=dedup_functions_fully,
            enable_explicit_gather_scatter_batching=enable_explicit_gather_scatter_batching,
        ),
        *inline_passes(dedup_functions_fully=dedup_functions_fully),
        *propagate_passes(conservative_propagation=conservative_propagation),
        *outline_passes(dedup_functions_fully=dedup_functions_fully),
        *export_passes(inline_meshes=inline_meshes, **export_options),
    )


@dataclass(frozen=True, slots=True)
class PipelineRow:
    """A pipeline as the command line knows it; `expand` takes the options by field name."""

    name: str
    summary: str
    expand: Callable[..., Calls]
    options: tuple[Option, ...] = ()


_DEDUP = Option("dedup-functions-fully", False, "keep one function for all its calls")
_BATCHING = Option(
    "enable-explicit-gather-scatter-batching",
    False,
    "make the batch dimensions of gathers and scatters explicit first",
)
_INLINE = "replace the names of meshes by the meshes"
_EXPORT = (
    Option("keep-sharding-rules", False, "leave the sharding rules on the ops"),
    Option("avoid-export-for-partitioning", False, "keep what another round of propagation needs"),
    Option(
        "update-non-divisible-input-output-shardings",
        True,
        "cut shardings of arguments and results to what divides evenly",
    ),
    Option("enable-insert-explicit-collectives", False, "insert all reshards, as collectives"),
    Option(
        "remove-all-gather-reduce-scatter-for-cmv1",
        False,
        "of those, leave all-gathers and reduce-scatters beside matrix products to the products",
    ),
)


def _explicit_reshard_passes() -> Calls:
    return (
        _call("sdy-insert-explicit-reshards", enable_full_version=True),
        _call("canonicalize", enable_patterns=("sdy-reshard",)),
        _call("sdy-reshard-to-collectives"),
    )


def _call(name: str, **options: OptionValue) -> PassCall:
    row = pass_by_name(name)
    assert row is not None, f"no pass {name}"
    return PassCall.of(row, options)


PIPELINES: tuple[PipelineRow, ...] = (
    PipelineRow(
        "sdy-propagation-pipeline",
        "Decides every sharding: import, propagation, export.",
        instrumented(propagation_passes, 1),
        (
            _DEDUP,
            _BATCHING,
            Option("conservative-propagation", False, "no split axes, no shardings that need padding"),
            Option("inline-meshes", False, _INLINE),
            *_EXPORT,
            *PROPAGATION_OPTIONS,
            AUTO_PARTITIONING,
        ),
    ),
    PipelineRow(
        "sdy-import-pipeline",
        "Prepares a program for propagation.",
        instrumented(import_passes),
        (_DEDUP, _BATCHING, *PROPAGATION_OPTIONS),
    ),
    PipelineRow(
        "sdy-export-pipeline",
        "Prepares a propagated program for a partitioner.",
        instrumented(export_passes),
        (
            *EXPORT_OPTIONS,
            Option("inline-meshes", True, _INLINE),
            *_EXPORT,
            Option("avoid-reshards-on-calls", False, "nothing: reshards of calls have a pass of their own"),
        ),
    ),
    PipelineRow(
        "xla-sdy-stablehlo-import-pipeline",
        "Reads a dump with GSPMD's shardings, or with Shardy's attributes, as sdy.",
        stablehlo_import_passes,
        _call("xla-sdy-import-shardings").row.options,
    ),
    PipelineRow(
        "xla-sdy-round-trip-import-pipeline",
        "Reads XLA's HLO with Shardy's attributes in frontend attributes as sdy.",
        round_trip_import_passes,
    ),
    PipelineRow(
        "xla-sdy-round-trip-export-pipeline",
        "Writes a program of sdy for HLO, with all of sdy in frontend attributes.",
        round_trip_export_passes,
    ),
    PipelineRow(
        "xla-sdy-stablehlo-export-pipeline",
        "Writes a program of sdy with GSPMD's shardings.",
        stablehlo_export_passes,
        _call("xla-sdy-stablehlo-export-shardings").row.options,
    ),
)

_BY_NAME = {row.name: row for row in PIPELINES}


def pipeline_by_name(name: str) -> PipelineRow | None:
    """The row of a pipeline, None if there is none of that name."""
    return _BY_NAME.get(name)


def _constraint_passes() -> Calls:
    """Groups are merged once constraints have settled, so that members that conflict are found."""
    return _calls("sdy-apply-sharding-constraints", "sdy-sharding-group-import")


def _reshard_passes(*, are_explicit: bool) -> Calls:
    """Reshards where they are needed, and what becomes of them."""
    calls = _calls("sdy-verify-unreduced-axes")
    calls += _explicit_reshard_passes() if are_explicit else _calls("sdy-insert-explicit-reshards")
    return (*calls, _call("canonicalize", enable_patterns=("sdy-collective",)))


def _calls(*names: str) -> Calls:
    return tuple(_call(name) for name in names)
