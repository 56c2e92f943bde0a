"""The process grid, and how collectives split it into groups.

A process is a number: replica_id * partitions + partition_id, the flattened id of StableHLO's specification
("Parallel execution"); the strategies are those of its section "Collective ops".

>>> grid = Grid(replicas=4, partitions=2)
>>> cross_replica(grid, ((0, 1), (2, 3)))
((0, 2), (1, 3), (4, 6), (5, 7))
>>> cross_partition(grid, ((0, 1),))
((0, 1), (2, 3), (4, 5), (6, 7))
>>> cross_replica_and_partition(grid, ((0, 1), (2, 3)))
((0, 2, 1, 3), (4, 6, 5, 7))
"""

from __future__ import annotations

from collections.abc import Callable

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.device_groups import Groups


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of `replicas` by `partitions` processes."""

    replicas: int = 1
    partitions: int = 1

    @property
    def size(self) -> int:
        """The number of processes."""
        return self.replicas * self.partitions


MAX_DEVICES = 1 << 20


def check_devices(count: int) -> None:
    """Raises `ShardyError` if there are too many devices to run."""
    if count > MAX_DEVICES:
        raise ShardyError.unexpected("devices", expected=f"at most {MAX_DEVICES}", got=str(count))


def cross_replica(grid: Grid, groups: Groups) -> Groups:
    """Returns the groups of replicas, once for each partition."""
    _check(groups, grid.replicas, "replica")
    return _beside(groups, grid.partitions, lambda replica, partition: replica * grid.partitions + partition)


def cross_partition(grid: Grid, groups: Groups) -> Groups:
    """Returns the groups of partitions, once for each replica."""
    _check(groups, grid.partitions, "partition")
    return _beside(groups, grid.replicas, lambda partition, replica: replica * grid.partitions + partition)


def _beside(groups: Groups, count: int, process: Callable[[int, int], int]) -> Groups:
    """Returns each group `count` times; process: the number of a member in repetition n."""
    return tuple(tuple(process(member, n) for member in group) for group in groups for n in range(count))


def cross_replica_and_partition(grid: Grid, groups: Groups) -> Groups:
    """Returns the groups of replicas, each with all partitions."""
    _check(groups, grid.replicas, "replica")
    return tuple(
        tuple(
            replica * grid.partitions + partition for partition in range(grid.partitions) for replica in group
        )
        for group in groups
    )


def flattened_ids(grid: Grid, groups: Groups) -> Groups:
    """Returns the groups of flattened ids, which are processes."""
    _check(groups, grid.size, "process")
    return groups


def with_channel(strategy: Strategy, other: Strategy) -> Callable[[int, bool], Strategy]:
    """Returns the choice of a strategy by channel id and `use_global_device_ids`.

    strategy: that of ops without a channel. other: that of ops with a channel and without global ids.
    """

    def chosen(channel: int, use_global_ids: bool) -> Strategy:
        if use_global_ids:
            return flattened_ids
        return other if channel > 0 else strategy

    return chosen


Strategy = Callable[[Grid, Groups], Groups]

REDUCING = with_channel(cross_replica, cross_replica_and_partition)
"""The group modes of all_gather, all_reduce, reduce_scatter."""
MOVING = with_channel(cross_replica, cross_partition)
"""The group modes of all_to_all, collective_broadcast, collective_permute, collective_reduce."""


def whole(strategy: Strategy, grid: Grid) -> Groups:
    """Returns the ids of one group that holds everything, which an empty list of groups stands for."""
    if strategy is flattened_ids:
        return (tuple(range(grid.size)),)
    return (tuple(range(grid.partitions if strategy is cross_partition else grid.replicas)),)


def _check(groups: Groups, count: int, kind: str) -> None:
    for group in groups:
        for member in group:
            if not 0 <= member < count:
                raise ShardyError(
                    f"replica_groups hold {kind} {member}, and the run has {count} {kind}s (0 to {count - 1})"
                )
