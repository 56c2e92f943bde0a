"""Which ops XLA's backend for the host fuses, op by op and user by user.

From the last op to the first, each takes in the ops that make its operands, as long as there are any that can
be fused. An op with several users is computed again in each of those that can take it, unless it is expensive,
and is stored beside that if one cannot. An op with several large operands that is not fused into all its users
is not fused at all, because each user would read more. A reduction of the library takes in only ops that
nothing else reads. Not here: the ops (`host_program.py`). Source: openxla/xla,
xla/service/instruction_fusion.cc, xla/service/fusion_node_indexing_evaluation.cc,
xla/service/cpu/cpu_instruction_fusion.cc, xla/backends/cpu/transforms/library_rewriter.cc.

>>> from shardy_py.ops import TensorType
>>> ops = [HostOp("slice", ("x",), ("s",)), HostOp("reshape", ("s",), ("r",)), HostOp("sort", ("r",), ("y",))]
>>> types = dict.fromkeys("xsry", TensorType((4,)))
>>> [(sorted(group.members), [*group.reads]) for group in HostFusion(ops, types, ("y",)).groups()]
[([0, 1], ['x']), ([2], ['r'])]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from heapq import heappop, heappush

from shardy_py.ops import TensorType
from shardy_py.report.memory.canonical import is_narrowed
from shardy_py.report.memory.host_program import (
    LIBRARY_REDUCTION,
    HostOp,
    elements,
    is_in_place,
    is_movable,
    is_pointwise,
)
from shardy_py.spmd.program import Name

_EXPENSIVE = frozenset(
    (
        *("exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "power", "rsqrt", "sqrt"),
        *("cbrt", "tanh", "atan2", "erf", "gather", "reduce"),
    )
)
"""Ops that are not computed twice."""
_CONDITIONAL = frozenset(("concatenate", "dynamic_update_slice", "pad", "reduce", "reduce_window"))
"""Ops whose code has branches or loops: it is in a fusion only once."""
_IN_LIBRARY = frozenset(("broadcast_in_dim", "reshape", "transpose", "pad", "iota"))
_NOT_IN_LIBRARY = frozenset(("select", "clamp", "compare", "remainder", "and", "or", "xor", "not", "real", "imag"))
"""Ops that a reduction of the library computes with it, and elementwise ones that it does not."""
_MOST_REPETITIONS = 15
"""How often code of an op may be in a fusion."""
_MOST_REDUCTIONS = 5
_MOST_CONCATENATED = 8
"""A concatenation of more operands is not fused."""
_LONG_ROW = 128
"""Rows of that many elements are not put together within a fusion."""
_OUTSIDE = -1
"""The user that a returned value has."""


class Order(Enum):
    """In which order an op reads the elements of an operand: its own, another one, or some repeatedly."""

    SAME = 0
    OTHER = 1
    REPEATED = 2


@dataclass
class Group:
    """Ops that are computed together.

    root: the last of them. members: with it, by how often code for each is made. reads: the values that are
    stored, and whether each is read by elementwise ops only. orders: in which order. places: by value, the
    members at whose places it is read. readers: the number of members that read a value. waiting: the ops
    that may join, negative.
    """

    root: int
    members: dict[int, int] = field(default_factory=dict[int, int])
    reads: dict[Name, bool] = field(default_factory=dict[Name, bool])
    orders: dict[Name, Order] = field(default_factory=dict[Name, Order])
    places: dict[Name, set[int]] = field(default_factory=lambda: defaultdict[Name, "set[int]"](set))
    readers: dict[Name, int] = field(default_factory=lambda: defaultdict[Name, int](int))
    waiting: list[int] = field(default_factory=list[int])
    reductions: int = 0


@dataclass
class HostFusion:
    """The fusion of a list of ops, each after those that it reads.

    types: of values on a device. returned: the values that are stored in any case. makers: the op of a value.
    users: of each op, those that are left. shared: whether it had several. read_by: how many members of a group
    read a value.
    """

    ops: Sequence[HostOp]
    types: Mapping[Name, TensorType]
    returned: Sequence[Name]
    makers: dict[Name, int] = field(init=False)
    users: list[dict[int, None]] = field(init=False)
    shared: list[bool] = field(init=False)
    read_by: dict[tuple[Name, int], int] = field(init=False, default_factory=dict[tuple[Name, int], int])
    _pointwise: list[bool] = field(init=False)
    _fusible: list[bool] = field(init=False)
    _expensive: list[bool] = field(init=False)
    _kept: set[int] = field(init=False, default_factory=set[int])

    def __post_init__(self) -> None:
        self.makers = {name: number for number, op in enumerate(self.ops) for name in op.makes}
        self.users = [{} for _ in self.ops]
        for number, op in enumerate(self.ops):
            for maker in self._makers_of(op):
                self.users[maker][number] = None
        stored = {self.makers[name] for name in self.returned if name in self.makers}
        for number in stored:
            self.users[number][_OUTSIDE] = None
        self.shared = [len(users) > 1 for users in self.users]
        self._pointwise = [*map(is_pointwise, self.ops)]
        kinds = zip(self.ops, self._pointwise, strict=True)
        self._fusible = [len(op.makes) == 1 and (same or is_movable(op.kind)) for op, same in kinds]
        self._expensive = [*map(self._is_expensive, self.ops)]
        self._kept = stored if len(self.returned) == 1 else set()

    def groups(self) -> list[Group]:
        """What runs at once, in the order of the ops; ops that are fused into all their users are in theirs."""
        self._keep_shared()
        found: list[Group] = []
        removed = bytearray(len(self.ops))
        for number in range(len(self.ops) - 1, -1, -1):
            if not removed[number]:
                found.append(self._group(number, removed))
        return found[::-1]

    def _makers_of(self, op: HostOp) -> list[int]:
        return [self.makers[name] for name in op.reads if name in self.makers]

    def _group(self, root: int, removed: bytearray) -> Group:
        """The group of an op, which takes in what it can."""
        op = self.ops[root]
        group = Group(root, {root: 1}, reductions=op.kind == "reduce")
        if not self._fusible[root] and op.kind not in ("reduce", LIBRARY_REDUCTION):
            group.reads = dict.fromkeys(op.reads, False)
            return group
        self._open(group, root, Order.SAME, {root}, is_direct=True)
        seen = set[int]()
        while group.waiting:
            number = -heappop(group.waiting)
            if number not in seen and number not in self._kept and self._joins(group, number):
                (name,) = self.ops[number].makes
                places = group.places[name]
                group.members[number] = self._count(group, name)
                group.reductions += self.ops[number].kind == "reduce"
                self._move(number, root, removed)
                self._open(group, number, group.orders[name], places, is_direct=group.reads.pop(name))
            seen.add(number)
        self.read_by |= {(name, root): group.readers[name] for name in group.reads}
        return group

    def _move(self, number: int, root: int, removed: bytearray) -> None:
        """Makes the root the user of what an op reads, and removes the op if that was its last user."""
        self.users[number].pop(root, None)
        removed[number] = not self.users[number]
        for maker in self._makers_of(self.ops[number]):
            self.users[maker][root] = None
            if removed[number]:
                self.users[maker].pop(number, None)

    def _open(self, group: Group, number: int, order: Order, places: set[int], *, is_direct: bool) -> None:
        """Notes what a new member of a group reads, and how."""
        op, pointwise = self.ops[number], self._pointwise[number]
        changed = op.reads[0] if number == group.root and is_in_place(op) and op.reads else None
        for name in dict.fromkeys(op.reads):
            group.places[name] |= places if self._keeps_index(op, name) else {number}
            group.readers[name] += 1
            own = max(self._order(number, name), order, key=lambda each: each.value)
            known = group.orders.get(name)
            is_known = known is None or known is own is Order.SAME
            group.orders[name] = own if is_known else Order.REPEATED
            group.reads[name] = group.reads.get(name, True) and ((is_direct and pointwise) or name == changed)
            maker = self.makers.get(name)
            if maker is not None and self._fusible[maker]:
                heappush(group.waiting, -maker)

    def _keeps_index(self, op: HostOp, name: Name) -> bool:
        """Whether an op reads an operand at the places of its own elements, in any order."""
        given, made = self.types.get(name), self.types.get(op.makes[0])
        same = given is not None and made is not None and given.shape == made.shape
        return same or op.kind in ("transpose", "copy")

    def _order(self, number: int, name: Name) -> Order:
        """In which order an op reads the elements of an operand."""
        op = self.ops[number]
        if self._pointwise[number] or op.kind == "broadcast_in_dim":
            given, made = self.types.get(name), self.types.get(op.makes[0])
            is_whole = given is None or made is None or elements(given) == elements(made)
            return Order.REPEATED if not is_whole else Order.SAME if self._pointwise[number] else Order.OTHER
        is_index = op.kind in ("pad", "reduce", "dynamic_slice", "gather") and name != op.reads[0]
        return Order.REPEATED if is_index else Order.OTHER

    def _joins(self, group: Group, number: int) -> bool:
        """Whether an op becomes a member of a group that reads what it makes."""
        op = self.ops[number]
        (name,) = op.makes
        if not self._takes(group.root, number, group.orders[name]):
            return False
        is_plain = len(group.members) == 1 or self.ops[group.root].kind == LIBRARY_REDUCTION
        if op.kind == "reduce" and group.reductions > _MOST_REDUCTIONS:
            return False
        return is_plain or not self._is_repeated(group, number)

    def _count(self, group: Group, name: Name) -> int:
        """How often code for a value would be in a group."""
        return sum(group.members[each] for each in group.places[name])

    def _is_repeated(self, group: Group, number: int) -> bool:
        """Whether code for an op would be in a group too often."""
        op = self.ops[number]
        (name,) = op.makes
        count = self._count(group, name)
        if op.kind == "broadcast_in_dim":
            return False
        if op.kind not in _CONDITIONAL:
            return count > _MOST_REPETITIONS
        others = sum(self.read_by.get((name, user), 1) for user in self.users[number] if user != group.root)
        return count > 1 or group.readers[name] + others > 1

    def _takes(self, root: int, number: int, order: Order) -> bool:
        """Whether a group with a root may have an op that makes what it reads in an order."""
        op, last = self.ops[number], self.ops[root]
        if last.kind == LIBRARY_REDUCTION:
            is_known = self._pointwise[number] and len(op.reads) <= 2 and op.kind not in _NOT_IN_LIBRARY
            return not self.shared[number] and (is_known or op.kind in _IN_LIBRARY)
        if self._is_copied(op) or self._is_copied(last):
            return False
        if self._expensive[number] and (order is Order.REPEATED or len(self.users[number]) > 1):
            return False
        # A slice of what is written over is that of its place: others would read what is new.
        is_changed = is_in_place(last) and last.reads[:1] and last.reads[0] in op.reads
        return not is_changed or self._pointwise[number] or op.kind in ("slice", "dynamic_slice")

    def _is_copied(self, op: HostOp) -> bool:
        """Whether an op puts together many operands, or long rows: then it is a copy, and not fused."""
        if op.kind != "concatenate":
            return False
        made = self.types.get(op.makes[0])
        row = made.shape[-1] or 0 if made is not None and made.rank > 1 else 0
        given = [type_.shape[-1] or 0 for name in op.reads if (type_ := self.types.get(name)) and type_.shape]
        return len(op.reads) > _MOST_CONCATENATED or (row >= _LONG_ROW and max(given, default=row) < row)

    def _is_expensive(self, op: HostOp) -> bool:
        if op.kind in _EXPENSIVE:
            return True
        if op.kind in ("divide", "remainder"):
            return not self._has_repeated_divisor(op)
        record = op.computed.record if op.computed is not None else None
        if record is None or op.computed is None or not record.results or record.results[0] is None:
            return False
        element = record.results[0].element
        if op.kind == "convert":
            return element == "bf16" and record.operands[0] is not None and record.operands[0].element == "f32"
        if op.kind in ("sine", "cosine", "tan"):
            return element.startswith("complex")
        return is_narrowed(op.computed)

    def _has_repeated_divisor(self, op: HostOp) -> bool:
        """Whether elements of what is divided by are repeated: then XLA multiplies by their reciprocals."""
        divisor = self.makers.get(op.reads[1]) if len(op.reads) > 1 and op.kind == "divide" else None
        made = self.types.get(op.makes[0])
        if divisor is None or made is None or self.ops[divisor].kind != "broadcast_in_dim":
            return False
        types = [self.types.get(name) for name in self.ops[divisor].reads]
        is_smaller = all(type_ is None or elements(type_) < elements(made) for type_ in types)
        return is_smaller and not made.element.startswith(("i", "ui"))

    def _keep_shared(self) -> None:
        """Keeps ops that read more than they make, and that some user cannot take on each way to it."""
        for number in range(len(self.ops) - 1, -1, -1):
            users = self.users[number]
            is_candidate = self._fusible[number] and len(users) > 1 and self._reads_more(number)
            if is_candidate and not all(self._on_all_paths(number, user, {}) for user in users):
                self._kept.add(number)

    def _reads_more(self, number: int) -> bool:
        """Whether an op reads several large operands, with more elements than it makes."""
        op = self.ops[number]
        made = self.types.get(op.makes[0])
        if made is None:
            return False
        large = total = 0
        for index, name in enumerate(op.reads):
            maker, type_ = self.makers.get(name), self.types.get(name)
            if type_ is not None:
                is_repeated = maker is not None and self.ops[maker].kind in ("broadcast_in_dim", "iota")
                large += not is_repeated and _true_rank(type_) >= _true_rank(made)
                total += elements(type_) if name not in op.reads[:index] else 0
        return large > 1 and total > elements(made)

    def _on_all_paths(self, producer: int, consumer: int, known: dict[int, bool]) -> bool:
        """Whether an op is fused into another whichever way its value takes to there."""
        if consumer == producer:
            return True
        if consumer == _OUTSIDE or not self._fusible[consumer]:
            return False
        if consumer not in known:
            known[consumer] = all(
                self._is_on_path(producer, consumer, name, known) for name in self.ops[consumer].reads
            )
        return known[consumer]

    def _is_on_path(self, producer: int, consumer: int, name: Name, known: dict[int, bool]) -> bool:
        """Whether the producer is fused into a consumer by way of one of its operands, if it leads there."""
        maker = self.makers.get(name)
        if maker is None or maker < producer or not self._reaches(producer, maker):
            return True
        can = self._fusible[maker] and maker not in self._kept
        taken = can and self._takes(consumer, maker, self._order(consumer, name))
        return taken and self._on_all_paths(producer, maker, known)

    def _reaches(self, producer: int, number: int) -> bool:
        """Whether an op needs what another makes."""
        waiting, seen = [number], {number}
        while waiting:
            each = waiting.pop()
            if each == producer:
                return True
            found = [maker for maker in self._makers_of(self.ops[each]) if maker >= producer]
            waiting += [maker for maker in found if maker not in seen]
            seen.update(found)
        return False


def _true_rank(type_: TensorType) -> int:
    """The number of dimensions that are not 1."""
    return sum(size != 1 for size in type_.shape)
