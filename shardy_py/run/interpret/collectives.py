"""Collectives: groups of processes exchange values.

All processes that run in lockstep exchange in one numpy call. Others are waited for (`rendezvous.py`).

Not here: what is computed from the values of a group (`exchange.py`), the groups (`grid.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np
from xdsl.ir import Operation

from shardy_py.base.counting import plural
from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.device_groups import Groups
from shardy_py.mlir.dialects.stablehlo.attributes import ChannelHandleAttr
from shardy_py.mlir.ir import type_of
from shardy_py.mlir.op_errors import place_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.typed import integer_of
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.arithmetic import current
from shardy_py.ops.compute.lanes import dtype_of, in_lanes
from shardy_py.reshard.process_grid import MOVING, REDUCING, Grid, Strategy, cross_replica, whole
from shardy_py.run.interpret import exchange
from shardy_py.run.interpret.bodies import body_maker
from shardy_py.run.interpret.build import Builder, Handler, NestedRegion
from shardy_py.run.interpret.machine import Devices, Run
from shardy_py.run.interpret.mesh_groups import groups_of
from shardy_py.run.interpret.values import Lanes, Value

Exchange = Callable[[list[Array]], Sequence[Array]]
"""From the parts of all operands to those of all results: see `exchange.py`."""


@dataclass(frozen=True, eq=False)
class CollectiveRun:
    """A collective as a step.

    groups_in: makes the groups of the grid. exchange_for: makes the exchange for devices and operands.
    count: the operands that are exchanged; those behind them are captured by regions.
    """

    op: Operation
    groups_in: Callable[[Grid], Groups]
    exchange_for: Callable[[Devices, list[Value]], Exchange]
    count: int
    communicates = True

    def __call__(self, devices: Devices, operands: list[Value]) -> Sequence[Value]:
        """Returns the results; processes in no group get zeros."""
        groups = self.groups_in(devices.world.grid)
        members, arrays = brought(self.op, devices, groups, operands[: self.count])

        def exchanged(values: list[Array]) -> Sequence[Array]:
            return _exchanged(values, members, devices, groups, self.exchange_for(devices, operands))

        results = exchanged(arrays)
        current().follow(exchanged, arrays, results)
        return results


def brought(
    op: Operation, devices: Devices, groups: Groups, arrays: list[Array]
) -> tuple[Lanes, list[Array]]:
    """Returns all processes whose values are needed, and their values as lanes; waits for them."""
    grid, own = devices.world.grid, devices.members
    ids = own.tolist()
    if len(own) != len(set(ids)):
        raise ShardyError("communicates in a region that is applied to elements")
    if len(own) == grid.size or _are_closed(groups, tuple(ids)):
        return own, arrays
    key = (op.name, channel_of(op), groups)
    met = devices.world.rendezvous.meet(key, ids, groups, arrays, partial(_deadlock, op, ids))
    return np.array(list(met)), [
        np.concatenate([_lane(values[number], lane) for values, lane in met.values()])
        for number in range(len(arrays))
    ]


def _lane(array: Array, lane: int) -> Array:
    return array if len(array) == 1 else array[lane : lane + 1]


@SESSION.cache(256)
def _are_closed(groups: Groups, members: tuple[int, ...]) -> bool:
    """Returns whether each group with one of these members has only such members."""
    own = set(members)
    return all(own.isdisjoint(group) or own.issuperset(group) for group in groups)


def _deadlock(op: Operation, arrived: Sequence[int], missing: Sequence[int]) -> Diagnostic:
    """The message about processes that wait for others."""
    text = (
        f"'{op.name}' op is in deadlock: {_listed(arrived)} reached it, and {_listed(missing)} of the same"
        " groups did not"
    )
    return Diagnostic(text, place_of(op))


def _listed(processes: Sequence[int], shown: int = 8) -> str:
    names = ", ".join(map(str, processes[:shown]))
    rest = f" and {len(processes) - shown} more" if len(processes) > shown else ""
    return f"{plural(len(processes), 'device')} {names}{rest}"


def channel_of(op: Operation) -> int:
    """Returns the channel of an op; 0 if it has none."""
    handle = op.properties.get("channel_handle")
    return handle.data.handle if isinstance(handle, ChannelHandleAttr) else 0


@dataclass(frozen=True, eq=False)
class _Route:
    """The way of values through groups of one size.

    lanes: of the members of each group (groups, members); None if values are in that order.
    inside: which of the receiving devices are in a group. group, member: their places in the groups.
    """

    shape: tuple[int, ...]
    lanes: Lanes | None
    inside: Array
    is_whole: bool
    group: Lanes
    member: Lanes


@SESSION.cache(256)
def _routes(groups: Groups, size: int, brought: bytes, received: bytes) -> tuple[_Route, ...]:
    """Returns the routes of each size of groups of which all members have come.

    size: of the grid. brought, received: the processes that bring values, and those that receive some.
    """
    members, wanted = (np.frombuffer(ids, np.intp) for ids in (brought, received))
    lane_of = np.full(size, -1, np.intp)
    lane_of[members] = np.arange(len(members))
    routes: list[_Route] = []
    for all_groups in _by_size(groups):
        known = all_groups[(lane_of[all_groups] >= 0).all(axis=1)]
        if not known.size:
            continue
        lanes = lane_of[known]
        group_of, member_of = np.full((2, size), -1, np.intp)
        group_of[known] = np.arange(len(known))[:, None]
        member_of[known] = np.arange(known.shape[1])
        inside = group_of[wanted] >= 0
        chosen = wanted[inside]
        is_ordered = np.array_equal(lanes.ravel(), np.arange(len(members)))
        routes.append(
            _Route(
                lanes.shape,
                None if is_ordered else lanes,
                inside,
                bool(inside.all()),
                group_of[chosen],
                member_of[chosen],
            )
        )
    return tuple(routes)


def _exchanged(
    arrays: list[Array], members: Lanes, devices: Devices, groups: Groups, run: Exchange
) -> list[Array]:
    """The results of the devices, whose groups' values are in `members`' lanes."""
    size, wanted = devices.world.grid.size, devices.members
    by_size = _by_size(groups)
    if len(by_size) == 1 and by_size[0].size == len(wanted) == size and all(len(a) == 1 for a in arrays):
        return _alike(arrays, by_size[0], wanted, run)
    results: list[Array] | None = None
    for route in _routes(groups, size, members.tobytes(), wanted.tobytes()):
        made = run([_parts(array, route, len(members)) for array in arrays])
        received = [array[route.group, 0 if array.shape[1] == 1 else route.member] for array in made]
        if route.is_whole:
            return received
        results = results or [np.zeros((len(wanted), *array.shape[1:]), array.dtype) for array in received]
        for result, array in zip(results, received, strict=True):
            result[route.inside] = array
    if results is None:
        raise ShardyError("has no group with a device that runs it")
    return results


def _parts(array: Array, route: _Route, count: int) -> Array:
    """The lanes of each group; a view if groups are neighbours in order."""
    lanes = in_lanes(array, count)
    ordered = lanes if route.lanes is None else lanes[route.lanes.ravel()]
    return ordered.reshape(*route.shape, *array.shape[1:])


def _alike(arrays: list[Array], groups: Array, wanted: Lanes, run: Exchange) -> list[Array]:
    """The results where all processes bring the same: one group stands for all."""
    made = run([in_lanes(array, groups.shape[1])[None] for array in arrays])
    if all(array.shape[1] == 1 for array in made):
        return [array[0] for array in made]
    position = np.empty(groups.size, np.intp)
    position[groups.ravel()] = np.arange(groups.size) % groups.shape[1]
    return [in_lanes(array[0], groups.shape[1])[position[wanted]] for array in made]


@SESSION.cache(256)
def _by_size(groups: Groups) -> tuple[Lanes, ...]:
    """The groups, those of equal size as one array of (groups, members)."""
    found: dict[int, list[tuple[int, ...]]] = {}
    for group in groups:
        if group:
            found.setdefault(len(group), []).append(group)
    return tuple(np.array(same, np.intp) for same in found.values())


# ---------------------------------------------------------------------- the ops


def _groups(builder: Builder, op: Operation, strategy: Strategy) -> Callable[[Grid], Groups]:
    given = groups_of(op.properties["replica_groups"], builder.symbols)

    @lru_cache(maxsize=4)
    def groups_in(grid: Grid) -> Groups:
        return strategy(grid, given or whole(strategy, grid))

    return groups_in


def _strategy(op: Operation, choice: Callable[[int, bool], Strategy]) -> Strategy:
    return choice(channel_of(op), "use_global_device_ids" in op.properties)


def _integer(op: Operation, name: str) -> int:
    return integer_of(op, name)


def _moving(run: Callable[..., Array], choice: Callable[[int, bool], Strategy], **attributes: str) -> Handler:
    """A collective that moves each operand by itself."""

    def handler(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
        one = partial(run, **{key: _integer(op, name) for key, name in attributes.items()})
        count = len(op.operands)

        def exchange_all(parts: list[Array]) -> list[Array]:
            return [one(part) for part in parts]

        return CollectiveRun(
            op, _groups(builder, op, _strategy(op, choice)), lambda devices, operands: exchange_all, count
        )

    return handler


def _reducing(
    run: Callable[..., Array], choice: Callable[[int, bool], Strategy], **attributes: str
) -> Handler:
    """A collective that folds the operands of a group with its region, in the types of the results."""

    def handler(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
        fold = partial(run, **{key: _integer(op, name) for key, name in attributes.items()})
        make = body_maker(regions[0])
        types = [dtype_of(tensor_type(type_of(result))) for result in op.results]

        def exchange_for(devices: Devices, operands: list[Value]) -> Exchange:
            combine = make(devices, operands).combined
            return lambda parts: [
                fold(part.astype(type_, copy=False), combine)
                for part, type_ in zip(parts, types, strict=False)
            ]

        return CollectiveRun(op, _groups(builder, op, _strategy(op, choice)), exchange_for, len(op.results))

    return handler


def collective_broadcast(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Section "collective_broadcast"; the roots of a dynamic one are the last operand."""
    results = len(op.results)

    def from_roots(parts: list[Array]) -> list[Array]:
        if len(parts) == results:
            return [part[:, :1] for part in parts]
        roots = parts[results][:, 0].reshape(len(parts[0]), -1)
        groups = np.arange(len(roots))
        return [part[groups, roots[:, k]][:, None] for k, part in enumerate(parts[:results])]

    groups = _groups(builder, op, _strategy(op, MOVING))
    return CollectiveRun(op, groups, lambda devices, operands: from_roots, len(op.operands))


def cross_replica_sum(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """The sum over groups of replicas."""

    def add(parts: list[Array]) -> list[Array]:
        return [exchange.all_reduce(part, np.add) for part in parts]

    return CollectiveRun(op, _groups(builder, op, cross_replica), lambda devices, operands: add, 1)


@dataclass(frozen=True, eq=False)
class PermuteRun:
    """Section "collective_permute": targets get the value of their source, the other processes zeros."""

    op: Operation
    pairs_in: Callable[[Grid], Groups]
    communicates = True

    def __call__(self, devices: Devices, operands: list[Value]) -> list[Array]:
        """Returns the result."""
        pairs = self.pairs_in(devices.world.grid)
        members, (array,) = brought(self.op, devices, pairs, operands)
        size = devices.world.grid.size
        lane_of, source = np.full(size, -1, np.intp), np.full(size, -1, np.intp)
        lane_of[members] = np.arange(len(members))
        if pairs:
            sources, targets = np.array(pairs, np.intp).T
            source[targets] = sources
        wanted = source[devices.members]
        if len(array) == 1 and (wanted >= 0).all():
            return [array]

        def sent(values: list[Array]) -> list[Array]:
            result = in_lanes(values[0], len(members))[lane_of[np.maximum(wanted, 0)]]
            result[wanted < 0] = np.zeros((), result.dtype)
            return [result]

        results = sent([array])
        current().follow(sent, [array], results)
        return results


def collective_permute(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Section "collective_permute"."""
    strategy = _strategy(op, MOVING)
    pairs = groups_of(op.properties["source_target_pairs"], builder.symbols)

    @lru_cache(maxsize=4)
    def pairs_in(grid: Grid) -> Groups:
        return strategy(grid, pairs)

    return PermuteRun(op, pairs_in)


def process_id(part: Callable[[Grid, Lanes], Lanes]) -> Handler:
    """Sections "partition_id" and "replica_id"."""

    def run(devices: Devices, operands: list[Value]) -> list[Array]:
        ids = part(devices.world.grid, devices.members).astype(np.uint32)
        return [ids[:1] if (ids == ids[0]).all() else ids]

    return lambda builder, op, regions: run


all_gather = _moving(exchange.all_gather, REDUCING, dimension="all_gather_dim")
all_reduce = _reducing(exchange.all_reduce, REDUCING)
all_to_all = _moving(
    exchange.all_to_all,
    MOVING,
    split_dimension="split_dimension",
    concat_dimension="concat_dimension",
    count="split_count",
)
collective_reduce = _reducing(exchange.collective_reduce, MOVING)
reduce_scatter = _reducing(exchange.reduce_scatter, REDUCING, dimension="scatter_dimension")
partition_id = process_id(lambda grid, members: members % grid.partitions)
replica_id = process_id(lambda grid, members: members // grid.partitions)
