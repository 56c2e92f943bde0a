"""Ops between devices, and between devices and hosts."""

from __future__ import annotations

from functools import partial

from shardy_py.mlir.dialects import kinds as k
from shardy_py.mlir.dialects.definition import (
    ASYNC,
    ISOLATED,
    PURE,
    READS_AND_WRITES,
    OpRow,
    filled,
    many,
    optional,
    regions,
    slots,
)
from shardy_py.mlir.dialects.stablehlo import attribute_kinds as own
from shardy_py.mlir.dialects.stablehlo import type_kinds as t
from shardy_py.mlir.dialects.stablehlo.verify import collectives as rules
from shardy_py.mlir.dialects.stablehlo.verify import control, host
from shardy_py.mlir.dialects.stablehlo.verify.elementwise import infer_most_specific
from shardy_py.mlir.dialects.stablehlo.verify.movement import infer_operand
from shardy_py.mlir.dialects.stablehlo.verify.traits import COMPATIBLE, PAIRWISE_ELEMENT, RETURN, SAME_ELEMENT
from shardy_py.mlir.dialects.template import Template
from shardy_py.mlir.dialects.type_tails import RESULT

_RESULT = Template("", RESULT)
_CHANNEL = {"channel_handle": optional(own.CHANNEL_HANDLE)}
_GROUPS = {"replica_groups": own.GROUPS, **_CHANNEL}
_IDS = {"use_global_device_ids": optional(k.UNIT)}
_TRANSFER = {
    "channel_handle": own.CHANNEL_HANDLE,
    "is_host_transfer": optional(k.BOOL, k.FALSE),
    "source_target_pairs": optional(k.TABLE),
}

_grouped = partial(OpRow, verify_symbols=rules.check_mesh_groups)
"""A row of an op with groups of replicas."""

COLLECTIVES = (
    _grouped(
        "all_gather",
        operands=slots(operands=many(t.TENSOR)),
        attributes=slots(all_gather_dim=k.INDEX, **_GROUPS, **_IDS),
        results=slots(results=many(t.TENSOR)),
        traits=(ASYNC,),
        verify=(PAIRWISE_ELEMENT, rules.check_all_gather),
    ),
    _grouped(
        "all_reduce",
        operands=slots(operands=many(t.TENSOR)),
        attributes=slots(**_GROUPS, **_IDS),
        regions=regions("computation"),
        results=slots(results=many(t.TENSOR)),
        traits=(ASYNC,),
        verify=(rules.check_all_reduce,),
        infer=rules.infer_reduced,
        ends_with=RETURN,
    ),
    _grouped(
        "all_to_all",
        operands=slots(operands=many(t.TENSOR)),
        attributes=slots(split_dimension=k.INDEX, concat_dimension=k.INDEX, split_count=k.COUNT, **_GROUPS),
        results=slots(results=many(t.TENSOR)),
        traits=(ASYNC,),
        verify=(PAIRWISE_ELEMENT,),
        infer=rules.infer_all_to_all,
    ),
    OpRow(
        "async_done",
        operands=slots(operand=t.FUTURE),
        results=slots(result=t.TENSOR),
        infer=control.infer_async_done,
    ),
    OpRow(
        "async_start",
        operands=slots(operands=many(t.TENSOR)),
        regions=regions("body"),
        results=slots(result=t.FUTURE),
        traits=(ISOLATED,),
        infer=control.infer_async_start,
        ends_with=RETURN,
    ),
    _grouped(
        "collective_broadcast",
        operands=slots(operands=many(t.TENSOR)),
        attributes=slots(**_GROUPS, has_dynamic_root=optional(k.UNIT)),
        results=slots(results=many(t.TENSOR)),
        traits=(ASYNC,),
        verify=(rules.check_collective_broadcast,),
        infer=rules.infer_data_operands,
    ),
    OpRow(
        "collective_permute",
        operands=slots(operand=t.TENSOR),
        attributes=slots(source_target_pairs=k.TABLE, **_CHANNEL),
        results=slots(result=t.TENSOR),
        traits=(ASYNC,),
        verify=(SAME_ELEMENT, rules.check_collective_permute),
        infer=infer_operand,
    ),
    _grouped(
        "collective_reduce",
        operands=slots(operands=many(t.TENSOR)),
        attributes=slots(**_GROUPS, **_IDS, has_dynamic_root=optional(k.UNIT)),
        regions=regions("computation"),
        results=slots(results=many(t.TENSOR)),
        traits=(ASYNC,),
        verify=(rules.check_collective_reduce,),
        infer=rules.infer_reduced,
        ends_with=RETURN,
    ),
    OpRow(
        "cross-replica-sum",
        operands=slots(operand=t.TENSOR),
        attributes=slots(replica_groups=k.TABLE),
        results=slots(result=t.TENSOR),
        traits=(PURE,),
        verify=(COMPATIBLE,),
        infer=infer_most_specific,
    ),
    OpRow("partition_id", results=slots(result=t.UI32), traits=(PURE,), form=_RESULT),
    _grouped(
        "reduce_scatter",
        operands=slots(operand=t.TENSOR),
        attributes=slots(scatter_dimension=k.INDEX, **_GROUPS, **_IDS),
        regions=regions("computation"),
        results=slots(result=t.TENSOR),
        traits=(ASYNC,),
        verify=(rules.check_reduce_scatter,),
    ),
    OpRow("replica_id", results=slots(result=t.UI32), traits=(PURE,), form=_RESULT),
    OpRow(
        "infeed",
        operands=slots(token=t.TOKEN),
        attributes=slots(infeed_config=filled(k.STRING, ""), layout=optional(k.ARRAY)),
        results=slots(results=many(t.STATIC_OR_TOKEN)),
        traits=(READS_AND_WRITES,),
        verify=(host.check_infeed,),
    ),
    OpRow(
        "outfeed",
        operands=slots(inputs=many(t.AXES), token=t.TOKEN),
        attributes=slots(outfeed_config=filled(k.STRING, "")),
        results=slots(result=t.TOKEN),
        traits=(READS_AND_WRITES,),
    ),
    OpRow(
        "recv",
        operands=slots(token=t.TOKEN),
        attributes=slots(**_TRANSFER),
        results=slots(results=many(t.STATIC_OR_TOKEN)),
        traits=(READS_AND_WRITES,),
        verify=(host.check_recv,),
    ),
    OpRow(
        "send",
        operands=slots(inputs=many(t.AXES), token=t.TOKEN),
        attributes=slots(**_TRANSFER),
        results=slots(result=t.TOKEN),
        traits=(READS_AND_WRITES,),
        infer=host.infer_send,
    ),
)
"""The rows."""
