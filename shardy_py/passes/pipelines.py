"""The pipelines: which passes run in which order, as functions from options to tuples of calls.

Not here: their options (`pipeline_options.py`), the passes (`__init__.py` lists them).
Like the list, this module loads no xDSL. `shardy_py.api.pipeline` runs pipelines from Python, `sdy-opt` by
flag.
"""

from __future__ import annotations

from collections.abc import Callable

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.passes import pass_call
from shardy_py.passes.export_stages import (
    CANONICAL_COLLECTIVES,
    DEVICES,
    explicit_reshard_passes,
    per_instruction_passes,
    stage_passes,
)
from shardy_py.passes.instrumentation import Calls, with_auto_partitioner, with_debug_info, with_dumps
from shardy_py.passes.options import (
    CopyOptions,
    ExportShardingsOptions,
    ImportShardingsOptions,
    OpPriorityOptions,
    Option,
    OptionValue,
    options_of,
)
from shardy_py.passes.pipeline_options import (
    STAGES,
    ExportPipelineOptions,
    ImportPipelineOptions,
    PartitionerPipelineOptions,
    PartitioningOptions,
    PropagationPipelineOptions,
)

_DEFAULT_COPIES, _DEFAULT_PRIORITIES, _DEFAULT_IMPORT, _DEFAULT_EXPORT = (
    CopyOptions(),
    OpPriorityOptions(),
    ImportShardingsOptions(),
    ExportShardingsOptions(),
)
_IMPORT, _EXPORT, _PROPAGATION, _PARTITIONER = (
    ImportPipelineOptions(),
    ExportPipelineOptions(),
    PropagationPipelineOptions(),
    PartitionerPipelineOptions(),
)
_RESHARD_LABELS = ("sdy-reshard", "sdy-equal-reshard", "sdy-made-reshard", "sdy-moved-reduction")
"""The rewrites by which tensors are gathered once for several ops, or not at all, as by XLA's partitioner."""


def import_passes(options: ImportPipelineOptions = _IMPORT) -> Calls:
    """From the user's program to one where every data flow is an op with a sharding of its own."""
    calls = _calls(
        "symbol-dce",
        "sdy-lift-inlined-meshes",
        "sdy-remove-size-one-axes",
        "sdy-propagate-sharding-from-func-to-call",
        "sdy-constant-or-scalar-splitter",
    )
    if options.enable_explicit_gather_scatter_batching:
        calls += _calls("sdy-explicit-gather-scatter-batching")
    calls += _calls("symbol-dce", "sdy-manual-axes-cleanup", "sdy-add-data-flow-edges")
    return calls + _constraint_passes() if options.dedup_functions_fully else calls


def inline_passes(options: ImportPipelineOptions = _IMPORT, copies: CopyOptions = _DEFAULT_COPIES) -> Calls:
    """From calls to one nest of regions that propagation sees through, or to edges between functions."""
    if options.dedup_functions_fully:
        return _calls("sdy-add-func-data-flow-edges", "sdy-pre-order-funcs")
    given: dict[str, OptionValue] = {}
    if copies.max_copied_ops != _DEFAULT_COPIES.max_copied_ops:
        given["max_copied_ops"] = copies.max_copied_ops
    flatten = (pass_call("sdy-flatten-call-graph", **given), pass_call("symbol-dce"))
    inline = (pass_call("sdy-import-func-calls", **given), pass_call("symbol-dce"))
    if Behaviour.CONSTRAINTS_BEFORE_CALLS_ARE_INLINED.holds:
        apply, *merge = _constraint_passes()
        over_edges = (
            *_calls("sdy-add-func-data-flow-edges"),
            apply,
            *_calls("sdy-sink-func-data-flow-edges"),
        )
        return (*flatten, *over_edges, *merge, *inline, *_calls("sdy-pre-order-funcs"))
    return (*flatten, *inline, *_constraint_passes(), *_calls("sdy-pre-order-funcs"))


def propagate_passes(options: OpPriorityOptions = _DEFAULT_PRIORITIES) -> Calls:
    """The propagation itself; the rules stay for later passes."""
    own = (o for o in options_of(OpPriorityOptions) if getattr(options, o.field_name) != o.default)
    given: dict[str, OptionValue] = {o.field_name: getattr(options, o.field_name) for o in own}
    return (pass_call("sdy-user-priority-propagate", keep_sharding_rules=True, **given),)


def outline_passes(options: ImportPipelineOptions = _IMPORT) -> Calls:
    """Back to functions and calls; functions whose shardings agree are merged."""
    if options.dedup_functions_fully:
        calls = _calls("sdy-propagate-to-func-results", "sdy-sink-func-data-flow-edges")
    else:
        calls = _calls("sdy-export-named-computations", "sdy-propagate-to-func-results")
    return calls + _calls("sdy-unflatten-call-graph", "symbol-dce", "sdy-insert-func-call-reshards")


def export_passes(options: PartitioningOptions = _EXPORT) -> Calls:
    """From a propagated program to the input of a partitioner: closed shardings, reshards, no helper ops.

    With explicit collectives every reshard becomes collectives, and none is left to the partitioner.
    """
    calls = _calls("sdy-constant-or-scalar-merger", "sdy-sink-data-flow-edges")
    if not options.avoid_export_for_partitioning:
        calls += _calls("sdy-remove-sharding-groups", "sdy-sharding-constraint-to-reshard")
    if options.update_non_divisible_input_output_shardings:
        calls += _calls(
            "sdy-update-non-divisible-input-output-shardings", "sdy-remove-sub-axes-in-input-output-shardings"
        )
    calls += _calls("sdy-close-shardings")
    if not options.avoid_export_for_partitioning:
        is_explicit = options.enable_insert_explicit_collectives
        if Behaviour.UNREDUCED_AXES_ARE_VERIFIED.holds:
            calls += _calls("sdy-verify-unreduced-axes")
        if isinstance(options, ExportPipelineOptions) and options.enable_per_instruction_partitioning:
            calls += per_instruction_passes(options)
        elif isinstance(options, ExportPipelineOptions) and options.partitioner_stage:
            calls, is_explicit = calls + stage_passes(options), False
        else:
            calls += explicit_reshard_passes() if is_explicit else _calls("sdy-insert-explicit-reshards")
        calls += (CANONICAL_COLLECTIVES,)
        if is_explicit and options.remove_all_gather_reduce_scatter_for_cmv1:
            calls += _calls("sdy-remove-all-gather-reduce-scatter-for-cmv1")
    if not options.keep_sharding_rules:
        calls += _calls("sdy-drop-sharding-rules")
    if options.inline_meshes and not options.avoid_export_for_partitioning:
        calls += _calls("sdy-inline-meshes")
    return calls


def propagation_passes(options: PropagationPipelineOptions = _PROPAGATION) -> Calls:
    """The whole way: import, inline, propagate, outline, export."""
    return (
        *import_passes(options),
        *inline_passes(options, options),
        *propagate_passes(options),
        *outline_passes(options),
        *export_passes(options),
    )


def partitioner_passes(options: PartitionerPipelineOptions = _PARTITIONER) -> Calls:
    """From a propagated program to the program that each device runs; reshards are inserted first.

    Options beyond Shardy's passes are on: uneven inputs, all padding masked, arithmetic for device ids.
    """
    devices: dict[str, OptionValue] = {name: getattr(options, name) for name in DEVICES}
    to_collectives = pass_call("sdy-reshard-to-collectives", misaligned_in_place=True)
    by_stage: dict[str, Calls] = {
        "resolve-permutation-factors": (
            pass_call(
                "sdy-resolve-permutation-factors",
                enable_halo_exchange=options.enable_halo_exchange,
                enable_windowed_halo_exchange=options.enable_halo_exchange,
                rng_bit_generator_unsafe=options.rng_bit_generator_unsafe,
                **devices,
            ),
        ),
        "reshard-to-collectives": (*_calls("sdy-split-mesh-changes"), to_collectives),
        "optimize-collectives": (
            *_calls("sdy-optimize-collectives"),
            pass_call("canonicalize", enable_patterns=("sdy-collective",)),
        ),
        "pad-for-divisibility": (
            pass_call(
                "sdy-pad-for-divisibility",
                pad_inputs_and_outputs=True,
                mask_all_padding=True,
                exchange_misaligned_parts=options.enable_halo_exchange,
                **devices,
            ),
        ),
        "resolve-single-device-sharding": (
            pass_call("sdy-resolve-single-device-sharding", wide_device_ids=True, **devices),
            to_collectives,
        ),
        "convert-global-to-local": (
            pass_call("sdy-convert-global-to-local", device_id_arithmetic=True, enable_rgv3=False, **devices),
            pass_call("sdy-drop-sharding-and-mesh", inline_replica_group_meshes=True),
        ),
    }
    last = STAGES.index(options.stage)
    return (
        *_calls(
            "sdy-lift-inlined-meshes",
            "sdy-export-named-computations",
            "sdy-sink-data-flow-edges",
            "sdy-remove-sharding-groups",
            "sdy-sharding-constraint-to-reshard",
            "sdy-close-shardings",
            "sdy-verify-unreduced-axes",
            "xla-fold-empty-values",
            "xla-populate-expanded-op-rules",
            "sdy-propagate-through-expanded-ops",
        ),
        pass_call("sdy-gather-whole-tensors", rng_bit_generator_unsafe=options.rng_bit_generator_unsafe),
        pass_call("sdy-insert-explicit-reshards", enable_full_version=True, keep_reductions=True),
        *_calls("sdy-resolve-reduction-factors", "sdy-drop-sharding-rules"),
        pass_call("canonicalize", enable_patterns=_RESHARD_LABELS),
        *(call for stage in STAGES[: last + 1] for call in by_stage[stage]),
    )


def collective_passes() -> Calls:
    """From a propagated program to one with all its communication as collectives.

    Reductions that the program has as collectives count once; Shardy's passes insert them again.
    """
    return (
        *_calls("sdy-sharding-constraint-to-reshard", "sdy-verify-unreduced-axes"),
        pass_call("sdy-insert-explicit-reshards", enable_full_version=True, keep_reductions=True),
        pass_call("canonicalize", enable_patterns=("sdy-reshard",)),
        pass_call("sdy-reshard-to-collectives", misaligned_in_place=True),
        pass_call("canonicalize", enable_patterns=("sdy-collective",)),
    )


def inline_call_passes() -> Calls:
    """Calls are inlined, as XLA does."""
    return _calls("xla-inline-calls")


def before_propagation_passes() -> Calls:
    """The changes that XLA makes to a program of JAX on its way to Shardy, in XLA's order."""
    return _calls(
        *(["xla-drop-priorities"] if Behaviour.HLO_DROPS_PRIORITIES.holds else []),
        "xla-merge-meshes",
        "xla-fold",
        "xla-inline-calls",
        "xla-fold-empty-values",
        "xla-drop-invariant-loop-values",
        "xla-erase-dead-ops",
        "xla-order-ops",
        "xla-populate-expanded-op-rules",
        "xla-open-free-loop-values",
    )


def round_trip_import_passes() -> Calls:
    """From XLA's HLO with Shardy's attributes in frontend attributes to sdy."""
    return _calls(
        "symbol-dce",
        "stablehlo-ext-canonicalize-from-hlo-import",
        "xla-sdy-round-trip-import-shardy-attrs",
        "xla-sdy-round-trip-shard-map-import",
        "xla-sdy-import-sdy-custom-calls",
    )


def stablehlo_import_passes(options: ImportShardingsOptions = _DEFAULT_IMPORT) -> Calls:
    """From a dump with GSPMD's shardings, or with Shardy's attributes, to sdy."""
    return (
        *_calls("stablehlo-ext-canonicalize-from-hlo-import"),
        pass_call("xla-sdy-import-shardings", **vars(options)),
        *_calls("xla-sdy-stablehlo-round-trip-shard-map-import"),
        *round_trip_import_passes(),
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


def stablehlo_export_passes(options: ExportShardingsOptions = _DEFAULT_EXPORT) -> Calls:
    """From sdy to a program with GSPMD's shardings."""
    return (
        *_calls("xla-sdy-export-ops", "xla-sdy-stablehlo-round-trip-shard-map-export"),
        pass_call("xla-sdy-stablehlo-export-shardings", **vars(options)),
    )


def _constraint_passes() -> Calls:
    """Groups are merged once constraints have been applied, so that conflicting members are found."""
    return _calls("sdy-apply-sharding-constraints", "sdy-sharding-group-import")


def _calls(*names: str) -> Calls:
    return tuple(pass_call(name) for name in names)


@dataclass(frozen=True, slots=True)
class PipelineRow:
    """A pipeline as the command line knows it.

    options_class: the dataclass of its options; None: it has none.
    passes: the calls, given the options.
    first_dump: the number of the first file that its option `dump-directory` asks for.
    """

    name: str
    summary: str
    passes: Callable[..., Calls]
    options_class: type | None = None
    first_dump: int = 0

    @property
    def options(self) -> tuple[Option, ...]:
        """The options, in the order of their declaration."""
        return options_of(self.options_class)

    def expand(self, **options: OptionValue) -> Calls:
        """The calls, given options by field name, with those for debugging and the auto-partitioner."""
        return self.expand_with(self.options_class(**options) if self.options_class else None)

    def expand_with(self, options: object) -> Calls:
        """The calls, given an instance of `options_class`, which is ignored without one."""
        calls = self.passes(options) if self.options_class else self.passes()
        if getattr(options, "enable_auto_partitioning", False):
            calls = with_auto_partitioner(calls)
        match options:
            case ImportPipelineOptions():
                origins, edges = options.debug_sharding_origins, options.debug_propagation_edge_sharding
            case ExportPipelineOptions():
                origins, edges = options.dump_sharding_origins, options.dump_propagation_edges
            case PartitionerPipelineOptions():
                origins = edges = False
            case _:
                return calls
        calls = with_debug_info(calls, origins=origins, edges=edges)
        return with_dumps(calls, options.dump_directory, self.first_dump) if options.dump_directory else calls


PROPAGATION_PIPELINE = PipelineRow(
    "sdy-propagation-pipeline",
    "Decides all shardings: import, propagation, export.",
    propagation_passes,
    PropagationPipelineOptions,
    first_dump=1,
)

PIPELINES: tuple[PipelineRow, ...] = (
    PROPAGATION_PIPELINE,
    PipelineRow(
        "sdy-import-pipeline", "Prepares a program for propagation.", import_passes, ImportPipelineOptions
    ),
    PipelineRow(
        "sdy-export-pipeline",
        "Prepares a propagated program for a partitioner.",
        export_passes,
        ExportPipelineOptions,
    ),
    PipelineRow(
        "sdy-partitioner-pipeline",
        "Makes of a propagated program the one that each device runs.",
        partitioner_passes,
        PartitionerPipelineOptions,
    ),
    PipelineRow(
        "xla-before-propagation-pipeline",
        "Applies the changes that XLA makes to a program of JAX on its way to Shardy.",
        before_propagation_passes,
    ),
    PipelineRow(
        "xla-sdy-stablehlo-import-pipeline",
        "Converts a dump with GSPMD's shardings, or with Shardy's attributes, to sdy.",
        stablehlo_import_passes,
        ImportShardingsOptions,
    ),
    PipelineRow(
        "xla-sdy-round-trip-import-pipeline",
        "Converts XLA's HLO with Shardy's attributes in frontend attributes to sdy.",
        round_trip_import_passes,
    ),
    PipelineRow(
        "xla-sdy-round-trip-export-pipeline",
        "Converts sdy for HLO, with all of sdy in frontend attributes.",
        round_trip_export_passes,
    ),
    PipelineRow(
        "xla-sdy-stablehlo-export-pipeline",
        "Converts sdy to GSPMD's shardings.",
        stablehlo_export_passes,
        ExportShardingsOptions,
    ),
)

_BY_NAME = {row.name: row for row in PIPELINES}


def pipeline_by_name(name: str) -> PipelineRow | None:
    """Returns the row of a pipeline, None if there is no pipeline of that name."""
    return _BY_NAME.get(name)
