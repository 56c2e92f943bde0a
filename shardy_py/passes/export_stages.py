"""The ways in which `sdy-export-pipeline` brings a program closer to that of one device.

Not here: the pipeline (`pipelines.py`), and our own partitioner.
"""

from __future__ import annotations

from shardy_py.base.behaviours import Behaviour
from shardy_py.passes import PassCall, pass_call
from shardy_py.passes.instrumentation import Calls
from shardy_py.passes.options import OptionValue
from shardy_py.passes.pipeline_options import STAGES, ExportPipelineOptions

DEVICES = ("replica_count", "partition_count")
"""The options that count processes."""
CANONICAL_COLLECTIVES = pass_call("canonicalize", enable_patterns=("sdy-collective",))


_RIGHT: dict[str, OptionValue] = {"device_id_arithmetic": True}
"""For positions along sub-axes in releases whose tables have others; their Shardy has no stages."""


def explicit_reshard_passes() -> Calls:
    """Reshards, as collectives."""
    is_optimized = Behaviour.EXPORT_OPTIMIZES.holds
    return (
        pass_call("sdy-insert-explicit-reshards", enable_full_version=True),
        pass_call("canonicalize", enable_patterns=("sdy-reshard",)),
        pass_call("sdy-reshard-to-collectives"),
        *((pass_call("sdy-optimize-collectives"),) if is_optimized else ()),
    )


def per_instruction_passes(options: ExportPipelineOptions) -> Calls:
    """Reshards, and ops partitioned one by one."""
    return (
        _partial_reshards(is_marked=bool(options.partitioner_stage)),
        pass_call(
            "sdy-per-instruction-partitioning",
            filter=options.per_instruction_partitioning_filter,
            replica_count=options.replica_count,
            partition_count=options.partition_count,
        ),
    )


def stage_passes(options: ExportPipelineOptions) -> Calls:
    """Shardy's partitioner, up to a stage."""
    devices: dict[str, OptionValue] = {name: getattr(options, name) for name in DEVICES}
    unsafe = options.rng_bit_generator_unsafe
    is_wrong = not Behaviour.SUB_AXES_HAVE_STRIDES.holds
    by_stage: dict[str, Calls] = {
        "resolve-permutation-factors": (
            pass_call("sdy-resolve-permutation-factors", rng_bit_generator_unsafe=unsafe, **devices),
        ),
        "reshard-to-collectives": (pass_call("sdy-reshard-to-collectives"),),
        "optimize-collectives": (pass_call("sdy-optimize-collectives"), CANONICAL_COLLECTIVES),
        "pad-for-divisibility": (pass_call("sdy-pad-for-divisibility"),),
        "resolve-single-device-sharding": (pass_call("sdy-resolve-single-device-sharding", **devices),),
        "convert-global-to-local": (
            pass_call("sdy-convert-global-to-local", **devices, **_RIGHT if is_wrong else {}),
            pass_call("sdy-drop-sharding-and-mesh", keep_module_sharding_metadata=True),
        ),
    }
    reached = STAGES[: STAGES.index(options.partitioner_stage) + 1]
    return (
        _partial_reshards(is_marked=True),
        pass_call("canonicalize", enable_patterns=("sdy-reshard",)),
        *(call for stage in reached for call in by_stage[stage]),
    )


def _partial_reshards(*, is_marked: bool) -> PassCall:
    marked: dict[str, OptionValue] = {"mark_partial_result_with_unreduced_axes": True} if is_marked else {}
    return pass_call("sdy-insert-explicit-reshards", enable_full_version=True, **marked)
