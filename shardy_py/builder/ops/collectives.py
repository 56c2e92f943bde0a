"""StableHLO's collectives, for manual computations, and its ops on tokens and tuples; all are in `ops`, too.

replica_groups: rows of device numbers; shorter rows end in -1. channel: the number of a channel between
devices; None: the op has none, so that groups are of replicas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from shardy_py.builder.bodies import region
from shardy_py.builder.dimensions import dimension as from_front
from shardy_py.builder.tensor import Tensor, emit, rank_of, value_of
from shardy_py.builder.types import TensorType
from shardy_py.dialects.stablehlo.notation import NOTATION
from shardy_py.dialects.stablehlo.structs import ChannelHandle
from shardy_py.dialects.stablehlo.types import TokenType
from shardy_py.errors import ShardyError

Groups = Sequence[Sequence[int]]
Body = Callable[[Tensor, Tensor], Tensor]
_DEVICE_TO_DEVICE, _DEVICE_TO_HOST, _HOST_TO_DEVICE = 1, 2, 3


def _channel(number: int | None, kind: int = _DEVICE_TO_DEVICE) -> ChannelHandle | None:
    return None if number is None else ChannelHandle(number, kind)


def _across(channel: int | None) -> dict[str, Any]:
    """The attributes of an op on groups: with a channel, of devices by their global numbers."""
    return {"channel_handle": _channel(channel), "use_global_device_ids": None if channel is None else True}


def _resized(operand: Tensor, dimension: int, times: int, parts: int) -> TensorType:
    size = operand.shape[dimension]
    if size is not None and (not parts or size * times % parts):
        raise ShardyError(f"dimension {dimension} of {operand.type.text} is not divisible by {parts}")
    new_size = None if size is None else size * times // parts
    shape = (*operand.shape[:dimension], new_size, *operand.shape[dimension + 1 :])
    return TensorType(shape, operand.element_type)


def _group_size(groups: Groups) -> int:
    rows = NOTATION.encode("groups", groups)
    shape = rows.get_shape() if isinstance(rows, DenseIntOrFPElementsAttr) else None
    if not shape or not shape[1]:
        raise ShardyError.unexpected("", expected="groups of devices as rows of numbers", got=f"{groups!r}")
    return shape[1]


def all_gather(
    operand: Tensor, dimension: int, replica_groups: Groups, *, channel: int | None = None
) -> Tensor:
    """The tensors of a group, concatenated along a dimension."""
    number = from_front(dimension, rank_of(operand))
    return emit(
        "all_gather",
        operand,
        results=_resized(operand, number, _group_size(replica_groups), 1),
        all_gather_dim=number,
        replica_groups=replica_groups,
        **_across(channel),
    )[0]


def all_reduce(
    operand: Tensor, replica_groups: Groups, body: Body | None = None, *, channel: int | None = None
) -> Tensor:
    """The tensors of a group combined by `body`, of two elements; None: summed."""
    return _combined("all_reduce", operand, replica_groups, body, channel)


def reduce_scatter(
    operand: Tensor,
    dimension: int,
    replica_groups: Groups,
    body: Body | None = None,
    *,
    channel: int | None = None,
) -> Tensor:
    """The tensors of a group combined by `body` (None: summed), scattered along a dimension."""
    number = from_front(dimension, rank_of(operand))
    result = _resized(operand, number, 1, _group_size(replica_groups))
    placed = {"results": result, "scatter_dimension": number}
    return _combined("reduce_scatter", operand, replica_groups, body, channel, **placed)


def all_to_all(
    operand: Tensor,
    split_dimension: int,
    concat_dimension: int,
    replica_groups: Groups,
    *,
    channel: int | None = None,
) -> Tensor:
    """Splits one dimension over the devices of a group and concatenates the received parts along another."""
    return emit(
        "all_to_all",
        operand,
        split_dimension=from_front(split_dimension, rank_of(operand)),
        concat_dimension=from_front(concat_dimension, rank_of(operand)),
        split_count=_group_size(replica_groups),
        replica_groups=replica_groups,
        channel_handle=_channel(channel),
    )[0]


def collective_reduce(
    operand: Tensor, replica_groups: Groups, body: Body | None = None, *, channel: int | None = None
) -> Tensor:
    """The tensors of a group combined by `body` (None: summed) on its first device; zeros on the others."""
    return _combined("collective_reduce", operand, replica_groups, body, channel)


def collective_permute(operand: Tensor, pairs: Groups, *, channel: int | None = None) -> Tensor:
    """The tensor of another device; `pairs`: sender and receiver."""
    handle = _channel(channel)
    return emit("collective_permute", operand, source_target_pairs=pairs, channel_handle=handle)[0]


def collective_broadcast(operand: Tensor, replica_groups: Groups, *, channel: int | None = None) -> Tensor:
    """The tensor of the first device of each group."""
    handle = _channel(channel)
    return emit("collective_broadcast", operand, replica_groups=replica_groups, channel_handle=handle)[0]


def partition_id() -> Tensor:
    """The number of the device among partitions, as a scalar of ui32."""
    return emit("partition_id", results=TensorType((), "ui32"))[0]


def replica_id() -> Tensor:
    """The number of the device among replicas, as a scalar of ui32."""
    return emit("replica_id", results=TensorType((), "ui32"))[0]


def _combined(
    op_name: str, operand: Tensor, groups: Groups, body: Body | None, channel: int | None, **others: Any
) -> Tensor:
    """An op that combines the tensors of a group by `body`, of two elements; None: summed."""
    element = TensorType((), operand.element_type)
    reducer = region(body or _sum, [element, element])
    return emit(op_name, operand, replica_groups=groups, regions=(reducer,), **_across(channel), **others)[0]


def _sum(lhs: Tensor, rhs: Tensor) -> Tensor:
    return lhs + rhs


# ---------------------------------------------------------------------------- futures, tokens and tuples


def async_start(body: Callable[..., Tensor], *operands: Tensor) -> Tensor:
    """The future of the result of `body`: one asynchronous collective or slice of the operands."""
    types = [value_of(operand).type for operand in operands]
    return emit("async_start", *operands, regions=(region(body, types, isolated=True),))[0]


def async_done(future: Tensor) -> Tensor:
    """Waits for a future and returns its tensor."""
    return emit("async_done", future)[0]


def create_token() -> Tensor:
    """A token without dependencies."""
    return emit("create_token", results=TokenType())[0]


def after_all(*tokens: Tensor) -> Tensor:
    """A token that depends on all given tokens."""
    return emit("after_all", *tokens, results=TokenType())[0]


def infeed(token: Tensor, results: Sequence[TensorType], config: str = "") -> tuple[Tensor, ...]:
    """Tensors from the infeed, then a token that depends on them."""
    return emit("infeed", token, results=[*results, TokenType()], infeed_config=config)


def outfeed(inputs: Sequence[Tensor], token: Tensor, config: str = "") -> Tensor:
    """Sends tensors to the outfeed; returns a token that depends on that."""
    return emit("outfeed", *inputs, token, results=TokenType(), outfeed_config=config)[0]


def send(inputs: Sequence[Tensor], token: Tensor, channel: int, *, to_host: bool = False) -> Tensor:
    """Sends tensors over a channel; returns a token that depends on that."""
    handle = _channel(channel, _DEVICE_TO_HOST if to_host else _DEVICE_TO_DEVICE)
    return emit("send", *inputs, token, results=TokenType(), channel_handle=handle, is_host_transfer=to_host)[
        0
    ]


def recv(
    token: Tensor, results: Sequence[TensorType], channel: int, *, from_host: bool = False
) -> tuple[Tensor, ...]:
    """Tensors received over a channel, then a token that depends on them."""
    handle = _channel(channel, _HOST_TO_DEVICE if from_host else _DEVICE_TO_DEVICE)
    types = [*results, TokenType()]
    return emit("recv", token, results=types, channel_handle=handle, is_host_transfer=from_host)


def tuple_(*values: Tensor) -> Tensor:
    """A tuple of values."""
    return emit("tuple", *values)[0]


def get_tuple_element(operand: Tensor, index: int) -> Tensor:
    """One value of a tuple."""
    return emit("get_tuple_element", operand, index=index)[0]
