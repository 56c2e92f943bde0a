"""StableHLO's ops between devices, with hosts, and around others: collectives, branches, tuples, tokens.

The columns are those of `regular.py`. Not here: loops and returns (`irregular.py`).
"""

from __future__ import annotations

from shardy_py.dialects.definition import OpRow
from shardy_py.dialects.template import Template, typed
from shardy_py.dialects.type_tails import RESULT, SAME, TUPLE

_RESULT = Template("", RESULT)
_CHANNEL = "channel_handle?:channel"
_GROUPS = f"replica_groups:groups {_CHANNEL}"
_IDS = "use_global_device_ids?:unit"
_TRANSFER = "channel_handle:channel is_host_transfer?:bool=false source_target_pairs?:table"

_DISTRIBUTION = (
    OpRow("all_gather", "operands*", f"all_gather_dim:index {_GROUPS} {_IDS}", "results*"),
    OpRow("all_reduce", "operands*", f"{_GROUPS} {_IDS}", "results*", "computation"),
    OpRow(
        "all_to_all",
        "operands*",
        f"split_dimension:index concat_dimension:index split_count:count {_GROUPS}",
        "results*",
    ),
    OpRow("collective_broadcast", "operands*", f"{_GROUPS} has_dynamic_root?:unit", "results*"),
    OpRow("collective_permute", "operand", f"source_target_pairs:table {_CHANNEL}"),
    OpRow(
        "collective_reduce",
        "operands*",
        f"{_GROUPS} {_IDS} has_dynamic_root?:unit",
        "results*",
        "computation",
    ),
    OpRow("cross-replica-sum", "operand", "replica_groups:table", traits="pure"),
    OpRow("partition_id", form=_RESULT, traits="pure"),
    OpRow("reduce_scatter", "operand", f"scatter_dimension:index {_GROUPS} {_IDS}", regions="computation"),
    OpRow("replica_id", form=_RESULT, traits="pure"),
    OpRow(
        "infeed", "token", "infeed_config:string=text layout?:array", "results*", traits="reads_and_writes"
    ),
    OpRow("outfeed", "inputs* token", "outfeed_config:string=text", traits="reads_and_writes"),
    OpRow("send", "inputs* token", _TRANSFER, traits="reads_and_writes"),
    OpRow("recv", "token", _TRANSFER, "results*", traits="reads_and_writes"),
    OpRow("async_start", "operands*", regions="body", traits="isolated"),
    OpRow("async_done", "operand"),
)

_CONTROL = (
    OpRow("after_all", "inputs*", form=Template(" $inputs", SAME), traits="pure"),
    OpRow("case", "index", results="results*", regions="branches*", traits="recursive"),
    OpRow("create_token", results="output", form=_RESULT, traits="pure"),
    OpRow("get_tuple_element", "operand", "index:index32", form=typed(" $operand[$index]"), traits="pure"),
    OpRow("if", "pred", results="results*", regions="true_branch false_branch", traits="recursive"),
    OpRow("tuple", "val*", form=Template(" $val", TUPLE), traits="pure"),
)

SYSTEM = (*_DISTRIBUTION, *_CONTROL)
"""The rows."""
