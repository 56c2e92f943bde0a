"""Options of pipelines, declared as those of passes are (`options.py`); `pipelines.py` has the pipelines.

Importing this module loads no xDSL.
"""

from __future__ import annotations

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.passes.options import (
    CopyOptions,
    DebugInfoOptions,
    DeviceCountOptions,
    OpPriorityOptions,
    option,
    switch,
)

_INLINE_MESHES = "replace mesh symbols in shardings by the meshes themselves"

STAGES = (
    "resolve-permutation-factors",
    "reshard-to-collectives",
    "optimize-collectives",
    "pad-for-divisibility",
    "resolve-single-device-sharding",
    "convert-global-to-local",
)
"""The stages of the partitioner, in order."""


@dataclass(frozen=True)
class DumpOptions:
    """Options of all pipelines of Shardy."""

    dump_directory: str = option("", "directory for numbered dumps of the module after each stage")


@dataclass(frozen=True)
class ImportPipelineOptions(DebugInfoOptions, DumpOptions):
    """Options of `sdy-import-pipeline`; debug information is in the dumps only."""

    dedup_functions_fully: bool = option(False, "keep one function for all its calls")
    enable_explicit_gather_scatter_batching: bool = option(
        False, "make the batch dimensions of gathers and scatters explicit first"
    )


@dataclass(frozen=True)
class PartitioningOptions(DumpOptions):
    """Options that `sdy-export-pipeline` and `sdy-propagation-pipeline` share."""

    keep_sharding_rules: bool = option(False, "keep the sharding rules on the ops")
    inline_meshes: bool = option(False, _INLINE_MESHES)
    avoid_export_for_partitioning: bool = option(False, "keep what another round of propagation needs")
    update_non_divisible_input_output_shardings: bool = option(
        True, "truncate shardings of arguments and results to axes that divide the dimensions evenly"
    )
    enable_insert_explicit_collectives: bool = option(False, "insert all reshards, as collectives")
    remove_all_gather_reduce_scatter_for_cmv1: bool = option(
        False, "remove all-gathers and reduce-scatters next to dot_general, for collective matmul"
    )


@dataclass(frozen=True)
class ExportPipelineOptions(DeviceCountOptions, PartitioningOptions):
    """Options of `sdy-export-pipeline`."""

    enable_per_instruction_partitioning: bool = option(
        False, "insert all reshards, and partition single ops, instead of inserting collectives"
    )
    per_instruction_partitioning_filter: str = option(
        "", "the ops to partition: parts of names, selectLow=N, selectHigh=N; empty: all"
    )

    inline_meshes: bool = switch(_INLINE_MESHES, on_since=Behaviour.EXPORT_INLINES_MESHES)
    partitioner_stage: str = option(
        "", "insert all reshards, and run the partitioner's passes up to this stage", ("", *STAGES)
    )
    rng_bit_generator_unsafe: bool = option(
        True, "with partitioner-stage: let devices generate the bits of their parts as if these were all"
    )
    avoid_reshards_on_calls: bool = option(
        False, "no effect: reshards of calls are inserted by a pass of their own"
    )
    dump_sharding_origins: bool = option(False, "keep the recorded origins of axes until the last dump")
    dump_propagation_edges: bool = option(False, "keep the recorded propagation edges until the last dump")


@dataclass(frozen=True)
class PartitionerPipelineOptions(DeviceCountOptions, DumpOptions):
    """Options of `sdy-partitioner-pipeline`."""

    stage: str = option(STAGES[-1], "the last stage to run", STAGES)
    enable_halo_exchange: bool = option(
        True, "exchange what windows lack with neighbors, instead of gathering whole dimensions"
    )
    rng_bit_generator_unsafe: bool = option(
        False, "let every device generate random numbers of its own, other ones than the whole program's"
    )


@dataclass(frozen=True)
class PropagationPipelineOptions(PartitioningOptions, OpPriorityOptions, ImportPipelineOptions, CopyOptions):
    """Options of `sdy-propagation-pipeline`."""

    enable_auto_partitioning: bool = option(False, "run the registered auto-partitioner")
