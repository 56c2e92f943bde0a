"""Options of passes: dataclasses whose fields are the only place where an option is named and described.

Parsing, `--help`, docs/passes.md, xDSL's own pipeline parser and the passes themselves read the same fields;
on the command line `_` is written `-`. `PassRow` refers to the class. Options of pipelines are declared so
too, in `pipelines.py`. Importing this module loads no xDSL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, field, fields
from typing import TypeVar, cast

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass

OptionValue = bool | int | str | tuple[str, ...]
"""The value of an option."""

Value = TypeVar("Value", bool, int, str, tuple[str, ...])


def option(default: Value, summary: str, choices: tuple[str, ...] = ()) -> Value:
    """Returns the dataclass field of an option.

    default: its type is the type of the option.
    summary: one phrase for `--help`.
    choices: the valid values of a string; empty: any.
    """
    return field(default=default, metadata={"summary": summary, "choices": choices})


def switch(summary: str, *, on_since: Behaviour) -> bool:
    """Returns the dataclass field of an option that is on by default since a behaviour."""
    return field(default_factory=lambda: on_since.holds, metadata={"summary": summary, "choices": ()})


@dataclass(frozen=True, slots=True)
class Option:
    """One option as its field declares it."""

    field_name: str
    default: OptionValue
    summary: str
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name on the command line."""
        return self.field_name.replace("_", "-")

    def text(self, value: OptionValue) -> str:
        """A value as option parsers read it."""
        match value:
            case bool():
                return "true" if value else "false"
            case tuple():
                return ",".join(value)
            case _:
                return str(value)


def options_of(options_class: type | None) -> tuple[Option, ...]:
    """The options that a dataclass declares; none for None."""
    if options_class is None:
        return ()
    return tuple(
        Option(f.name, _default(f), f.metadata.get("summary", ""), f.metadata.get("choices", ()))
        for f in fields(options_class)
    )


def _default(declared: Field[OptionValue]) -> OptionValue:
    if declared.default_factory is not MISSING:
        return declared.default_factory()
    return cast(OptionValue, declared.default)


def check_options(what: str, options: Iterable[Option], values: Mapping[str, object]) -> None:
    """Checks the values that a caller gives for options, by field name; `what` is for the messages.

    Raises:
        ShardyError: there is no such option, or its value is of another type or none of the choices.
    """
    by_name = {option.field_name: option for option in options}
    for name, value in values.items():
        option = by_name.get(name)
        if option is None:
            raise ShardyError.unknown("option", name, by_name, what=what)
        if type(value) is not type(option.default):
            expected = "a tuple of strings" if option.default == () else f"a value like {option.default!r}"
            raise ShardyError.unexpected(f"{what}, {name}", expected=expected, got=f"{value!r}"[:200])
        if option.choices and value not in option.choices:
            raise ShardyError.unknown("value", str(value), option.choices, what=f"{what}, {name}")


@dataclass(frozen=True)
class ImportShardingsOptions:
    """Options of `xla-sdy-import-shardings`."""

    mesh_axes: tuple[str, ...] = option((), "axes of the mesh, such as x=4,y=2; default: inferred")
    allow_propagation_to_args: tuple[str, ...] = option((), "true or false per argument of main, or for all")
    allow_propagation_to_results: tuple[str, ...] = option((), "true or false per result of main, or for all")


@dataclass(frozen=True)
class CopyOptions:
    """Options of `sdy-flatten-call-graph`; 1,000,000 ops take about 1 GB."""

    max_copied_ops: int = option(
        1_000_000, "ops that copies of functions, one for each call, may have in all"
    )

    @property
    def remedy(self) -> str:
        """The remedy for a program with more."""
        return "set max-copied-ops, or use dedup-functions-fully=true, which copies no function"


@dataclass(frozen=True)
class ImportFuncCallsOptions(CopyOptions):
    """Options of `sdy-import-func-calls`."""

    add_data_flow_edges_on_named_computations: bool = option(
        True, "also insert data-flow edges for the named computations"
    )


@dataclass(frozen=True)
class DebugInfoOptions:
    """Options of `sdy-apply-sharding-constraints`, and of all passes that decide shardings."""

    debug_sharding_origins: bool = option(False, "record which user sharding each axis originates from")
    debug_propagation_edge_sharding: bool = option(False, "record the edges along which each axis propagated")


@dataclass(frozen=True)
class ConservativeOptions:
    """Options of `sdy-populate-op-sharding-rules`."""

    conservative_propagation: bool = option(False, "no sub-axes and no shardings that require padding")


@dataclass(frozen=True)
class StrategyOptions(ConservativeOptions):
    """Options for resolving conflicts in propagation."""

    propagation_strategy: str = option(
        "aggressive",
        "how conflicts between factors are resolved",
        ("basic", "aggressive", "basic-then-aggressive"),
    )


@dataclass(frozen=True)
class OpPriorityOptions(StrategyOptions):
    """Options of propagation in pipelines."""

    run_op_priority_propagation: bool = option(True, "propagate through pass-through ops first")


@dataclass(frozen=True)
class PropagateOptions(DebugInfoOptions, ConservativeOptions):
    """Options of `sdy-basic-propagate`, and of all other strategies."""

    keep_sharding_rules: bool = option(False, "keep the derived sharding rules on the ops")
    module_dump_directory: str = option("", "directory for dumps of the module after each user priority")


@dataclass(frozen=True)
class AggressivePropagateOptions(PropagateOptions, StrategyOptions):
    """Options of `sdy-aggressive-propagate`."""


@dataclass(frozen=True)
class OpPriorityPropagateOptions(PropagateOptions, OpPriorityOptions):
    """Options of `sdy-op-priority-propagate`."""


@dataclass(frozen=True)
class UserPriorityPropagateOptions(OpPriorityPropagateOptions):
    """Options of `sdy-user-priority-propagate`."""

    dump_index: int = option(0, "number in the file names of the dumps")


@dataclass(frozen=True)
class UnflattenCallGraphOptions:
    """Options of `sdy-unflatten-call-graph`."""

    dedup_functions_fully: bool = option(False, "merge clones even if their shardings differ")


@dataclass(frozen=True)
class SinkDataFlowEdgesOptions:
    """Options of `sdy-sink-data-flow-edges`."""

    sink_debug_sharding_origins: bool = option(False, "also move the recorded origins of axes")
    sink_debug_propagation_edge_sharding: bool = option(False, "also move the recorded propagation edges")


@dataclass(frozen=True)
class InsertExplicitReshardsOptions:
    """Options of `sdy-insert-explicit-reshards`."""

    enable_full_version: bool = option(False, "for every op, not only for those that require it")
    mark_partial_result_with_unreduced_axes: bool = option(
        False, "mark results before their all-reduce as unreduced along its axes"
    )
    keep_reductions: bool = option(
        False, "insert no further reduction before an sdy.all_reduce or sdy.reduce_scatter"
    )


@dataclass(frozen=True)
class LiftInlinedMeshesOptions:
    """Options of `sdy-lift-inlined-meshes`."""

    use_single_device_mesh_names: bool = option(
        False, "name meshes of one device @single_device_3, not @maximal_mesh_3"
    )


@dataclass(frozen=True)
class ConvertGlobalToLocalOptions:
    """Options of `sdy-convert-global-to-local`; with one replica, devices are partitions."""

    per_dim_all_gather: bool = option(False, "gather one dimension after the other")
    combine_multi_dimension_reduce_scatter: bool = option(
        False, "scatter several dimensions in one reduce-scatter, not by an all-reduce and a slice"
    )
    enable_rgv3: bool = switch(
        "replica groups are axes of a mesh, not lists of devices", on_since=Behaviour.GROUPS_ARE_AXES
    )
    replica_count: int = option(1, "number of replicas")
    partition_count: int = option(1, "number of partitions")
    device_id_arithmetic: bool = option(
        False, "compute positions from the id of the device, instead of looking them up by it"
    )


@dataclass(frozen=True)
class DropShardingAndMeshOptions:
    """Options of `sdy-drop-sharding-and-mesh`."""

    keep_module_sharding_metadata: bool = option(
        False, "keep the shardings of arguments and results of main in attributes of the module"
    )
    inline_replica_group_meshes: bool = option(
        False, "write the meshes that replica groups name into the groups, instead of keeping them"
    )


@dataclass(frozen=True)
class ResolvePermutationFactorsOptions:
    """Options of `sdy-resolve-permutation-factors`."""

    enable_halo_exchange: bool = option(True, "exchange elements between neighbours instead of replicating")
    replica_count: int = option(1, "number of replicas")
    partition_count: int = option(1, "number of partitions")
    enable_windowed_halo_exchange: bool = option(
        False, "for all windowed ops, of the elements needed only, and right for uneven sizes and strides"
    )
    rng_bit_generator_unsafe: bool = option(
        True, "let devices generate the bits of their parts as if these were the whole tensor"
    )


@dataclass(frozen=True)
class ReshardToCollectivesOptions:
    """Options of `sdy-reshard-to-collectives`."""

    keep_redundant_reshards: bool = option(False, "keep reshards between equivalent shardings")
    misaligned_in_place: bool = option(
        False, "do not gather dimensions whose uneven parts before and after do not line up"
    )


@dataclass(frozen=True)
class DeviceCountOptions:
    """The processes that run a partitioned program; with one of each, devices are partitions."""

    replica_count: int = option(1, "number of replicas")
    partition_count: int = option(1, "number of partitions")


@dataclass(frozen=True)
class GatherWholeTensorsOptions:
    """Options of `sdy-gather-whole-tensors`."""

    rng_bit_generator_unsafe: bool = option(
        False, "let every device generate random numbers of its own, other ones than the whole program's"
    )


@dataclass(frozen=True)
class PadForDivisibilityOptions:
    """Options of `sdy-pad-for-divisibility`."""

    pad_inputs_and_outputs: bool = option(
        False, "also pad arguments and results of functions, instead of rejecting uneven ones"
    )
    mask_all_padding: bool = option(
        False, "replace padding wherever an op combines it with data, not only where Shardy does"
    )
    exchange_misaligned_parts: bool = option(
        False, "exchange elements between uneven parts that do not line up, instead of gathering dimensions"
    )
    replica_count: int = option(1, "number of replicas")
    partition_count: int = option(1, "number of partitions")


@dataclass(frozen=True)
class PerInstructionOptions(DeviceCountOptions):
    """Options of `sdy-per-instruction-partitioning`."""

    filter: str = option(
        "", "parts of op names, selectLow=N, selectHigh=N, func=NAME, separated by commas; empty: all ops"
    )
    enable_halo_exchange: bool = option(True, "exchange elements between neighbors instead of replicating")


@dataclass(frozen=True)
class ResolveSingleDeviceOptions(DeviceCountOptions):
    """Options of `sdy-resolve-single-device-sharding`."""

    wide_device_ids: bool = option(False, "compare ids of devices as i64 in every release of JAX")


@dataclass(frozen=True)
class CanonicalizeOptions:
    """Options of `canonicalize`."""

    enable_patterns: tuple[str, ...] = option((), "only apply patterns with these labels")


@dataclass(frozen=True)
class SaveModuleOptions:
    """Options of `sdy-save-module`."""

    dump_directory: str = option("", "existing directory; empty: nothing is written")
    file_name: str = option("module", "file name without .mlir")
    dump_index: int = option(-1, "number in front of the file name; negative: none")


@dataclass(frozen=True)
class ExportShardingsOptions:
    """Options of `xla-sdy-stablehlo-export-shardings`."""

    add_missing_sharding_to_control_flow: bool = option(
        False, "mark loops and branches without a sharding as replicated"
    )
    enable_hlo_sharding_v3: bool = option(False, "write shardings as mesh and axes")
