"""Ops between devices, and between devices and hosts."""

from __future__ import annotations

from functools import partial

from shardy_py.mlir.dialects.definition import OpRow
from shardy_py.mlir.dialects.stablehlo.verify import collectives as rules
from shardy_py.mlir.dialects.stablehlo.verify import control, host
from shardy_py.mlir.dialects.stablehlo.verify.elementwise import infer_most_specific
from shardy_py.mlir.dialects.stablehlo.verify.movement import infer_operand
from shardy_py.mlir.dialects.stablehlo.verify.traits import COMPATIBLE, PAIRWISE_ELEMENT, SAME_ELEMENT
from shardy_py.mlir.dialects.template import Template
from shardy_py.mlir.dialects.type_tails import RESULT

_RESULT = Template("", RESULT)
_CHANNEL = "channel_handle?:channel_handle"
_GROUPS = f"replica_groups:groups {_CHANNEL}"
_IDS = "use_global_device_ids?:unit"
_TRANSFER = "channel_handle:channel_handle is_host_transfer?:bool=false source_target_pairs?:table"

_grouped = partial(OpRow, verify_symbols=rules.check_mesh_groups)
"""A row of an op with groups of replicas."""

COLLECTIVES = (
    _grouped(
        f"async all_gather(operands*:tensor) <all_gather_dim:index {_GROUPS} {_IDS}> -> results*:tensor",
        verify=(PAIRWISE_ELEMENT, rules.check_all_gather),
    ),
    _grouped(
        f"async all_reduce(operands*:tensor) <{_GROUPS} {_IDS}> [computation] -> results*:tensor",
        verify=(rules.check_all_reduce,),
        infer=rules.infer_reduced,
    ),
    _grouped(
        "async all_to_all(operands*:tensor)"
        f" <split_dimension:index concat_dimension:index split_count:count {_GROUPS}> -> results*:tensor",
        verify=(PAIRWISE_ELEMENT,),
        infer=rules.infer_all_to_all,
    ),
    OpRow("async_done(operand:future) -> result:tensor", infer=control.infer_async_done),
    OpRow("isolated async_start(operands*:tensor) [body] -> result:future", infer=control.infer_async_start),
    _grouped(
        f"async collective_broadcast(operands*:tensor) <{_GROUPS} has_dynamic_root?:unit> -> results*:tensor",
        verify=(rules.check_collective_broadcast,),
        infer=rules.infer_data_operands,
    ),
    OpRow(
        f"async collective_permute(operand:tensor) <source_target_pairs:table {_CHANNEL}> -> result:tensor",
        verify=(SAME_ELEMENT, rules.check_collective_permute),
        infer=infer_operand,
    ),
    _grouped(
        f"async collective_reduce(operands*:tensor) <{_GROUPS} {_IDS} has_dynamic_root?:unit> [computation]"
        " -> results*:tensor",
        verify=(rules.check_collective_reduce,),
        infer=rules.infer_reduced,
    ),
    OpRow(
        "pure cross-replica-sum(operand:tensor) <replica_groups:table> -> result:tensor",
        verify=(COMPATIBLE,),
        infer=infer_most_specific,
    ),
    OpRow("pure partition_id() -> result:ui32", form=_RESULT),
    _grouped(
        f"async reduce_scatter(operand:tensor) <scatter_dimension:index {_GROUPS} {_IDS}> [computation]"
        " -> result:tensor",
        verify=(rules.check_reduce_scatter,),
    ),
    OpRow("pure replica_id() -> result:ui32", form=_RESULT),
    OpRow(
        "reads_and_writes infeed(token:token) <infeed_config:string=text layout?:array>"
        " -> results*:static_or_token",
        verify=(host.check_infeed,),
    ),
    OpRow("reads_and_writes outfeed(inputs*:axes token:token) <outfeed_config:string=text> -> result:token"),
    OpRow(
        f"reads_and_writes recv(token:token) <{_TRANSFER}> -> results*:static_or_token",
        verify=(host.check_recv,),
    ),
    OpRow(
        f"reads_and_writes send(inputs*:axes token:token) <{_TRANSFER}> -> result:token",
        infer=host.infer_send,
    ),
)
"""The rows."""
