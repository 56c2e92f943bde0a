"""Ops between devices, and between devices and hosts."""

from __future__ import annotations

from shardy_py.dialects.definition import OpRow
from shardy_py.dialects.stablehlo.verify import collectives as rules
from shardy_py.dialects.stablehlo.verify import control, host
from shardy_py.dialects.stablehlo.verify.elementwise import infer_most_specific
from shardy_py.dialects.stablehlo.verify.mesh_groups import check_mesh_groups
from shardy_py.dialects.stablehlo.verify.movement import infer_operand
from shardy_py.dialects.stablehlo.verify.traits import COMPATIBLE, PAIRWISE_ELEMENT, SAME_ELEMENT
from shardy_py.dialects.template import Template
from shardy_py.dialects.type_tails import RESULT

_RESULT = Template("", RESULT)
_CHANNEL = "channel_handle?:channel"
_GROUPS = f"replica_groups:groups {_CHANNEL}"
_IDS = "use_global_device_ids?:unit"
_TRANSFER = "channel_handle:channel is_host_transfer?:bool=false source_target_pairs?:table"

COLLECTIVES = (
    OpRow(
        "all_gather",
        "operands*:tensor",
        f"all_gather_dim:index {_GROUPS} {_IDS}",
        "results*:tensor",
        verify=(PAIRWISE_ELEMENT, rules.check_all_gather),
        verify_symbols=check_mesh_groups,
    ),
    OpRow(
        "all_reduce",
        "operands*:tensor",
        f"{_GROUPS} {_IDS}",
        "results*:tensor",
        "computation",
        verify=(rules.check_all_reduce,),
        infer=rules.infer_all_reduce,
        verify_symbols=check_mesh_groups,
    ),
    OpRow(
        "all_to_all",
        "operands*:tensor",
        f"split_dimension:index concat_dimension:index split_count:count {_GROUPS}",
        "results*:tensor",
        verify=(PAIRWISE_ELEMENT,),
        infer=rules.infer_all_to_all,
        verify_symbols=check_mesh_groups,
    ),
    OpRow("async_done", "operand:future", results="result:tensor", infer=control.infer_async_done),
    OpRow(
        "async_start",
        "operands*:tensor",
        results="result:future",
        regions="body",
        traits="isolated",
        infer=control.infer_async_start,
    ),
    OpRow(
        "collective_broadcast",
        "operands*:tensor",
        f"{_GROUPS} has_dynamic_root?:unit",
        "results*:tensor",
        verify=(rules.check_collective_broadcast,),
        infer=rules.infer_collective_broadcast,
        verify_symbols=check_mesh_groups,
    ),
    OpRow(
        "collective_permute",
        "operand:tensor",
        f"source_target_pairs:table {_CHANNEL}",
        "result:tensor",
        verify=(SAME_ELEMENT, rules.check_collective_permute),
        infer=infer_operand,
    ),
    OpRow(
        "collective_reduce",
        "operands*:tensor",
        f"{_GROUPS} {_IDS} has_dynamic_root?:unit",
        "results*:tensor",
        "computation",
        verify=(rules.check_collective_reduce,),
        infer=rules.infer_collective_reduce,
        verify_symbols=check_mesh_groups,
    ),
    OpRow(
        "cross-replica-sum",
        "operand:tensor",
        "replica_groups:table",
        "result:tensor",
        traits="pure",
        verify=(COMPATIBLE,),
        infer=infer_most_specific,
    ),
    OpRow("partition_id", results="result:ui32", form=_RESULT, traits="pure"),
    OpRow(
        "reduce_scatter",
        "operand:tensor",
        f"scatter_dimension:index {_GROUPS} {_IDS}",
        "result:tensor",
        "computation",
        verify=(rules.check_reduce_scatter,),
        verify_symbols=check_mesh_groups,
    ),
    OpRow("replica_id", results="result:ui32", form=_RESULT, traits="pure"),
    OpRow(
        "infeed",
        "token:token",
        "infeed_config:string=text layout?:array",
        "results*:static_or_token",
        traits="reads_and_writes",
        verify=(host.check_infeed,),
    ),
    OpRow(
        "outfeed",
        "inputs*:axes token:token",
        "outfeed_config:string=text",
        "result:token",
        traits="reads_and_writes",
    ),
    OpRow(
        "recv",
        "token:token",
        _TRANSFER,
        "results*:static_or_token",
        traits="reads_and_writes",
        verify=(host.check_recv,),
    ),
    OpRow(
        "send",
        "inputs*:axes token:token",
        _TRANSFER,
        "result:token",
        traits="reads_and_writes",
        infer=host.infer_send,
    ),
)
"""The rows."""
