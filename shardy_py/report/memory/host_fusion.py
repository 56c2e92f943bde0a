"""Which ops XLA's backend for the host fuses, op by op and user by user.

From the last op to the first, each takes in the ops that make its operands, as long as there are any that can
be fused. An op with several users is computed again in each of those that can take it, unless it is expensive,
and is stored beside that if one cannot. An op with several operands that is not fused into all its users is
not fused at all, because each user would read more. Source: openxla/xla, xla/service/instruction_fusion.cc,
xla/service/fusion_node_indexing_evaluation.cc, xla/service/cpu/cpu_instruction_fusion.cc.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from shardy_py.ops import TensorType
from shardy_py.report.memory.canonical import is_narrowed
from shardy_py.report.memory.host_ops import (
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
        *(
            "exponential",
            "exponential_minus_one",
            "log",
            "log_plus_one",
            "logistic",
            "power",
            "rsqrt",
            "sqrt",
        ),
        *("cbrt", "tanh", "atan2", "erf", "gather", "reduce"),
    )
)
"""Ops that are not computed twice."""
_IN_LIBRARY = frozenset(("broadcast_in_dim", "reshape", "transpose", "pad", "iota"))
_NOT_IN_LIBRARY = frozenset(
    ("select", "clamp", "compare", "remainder", "and", "or", "xor", "not", "real", "imag")
)
"""Ops that a reduction of the library computes with it, and elementwise ones that it does not."""
_QUOTIENTS = frozenset(("divide", "remainder"))
_MOST_REPETITIONS = 15
"""How often code of an op may be in a fusion."""
_MOST_REDUCTIONS = 5
_MOST_CONCATENATED = 8
"""A concatenation of more operands is not fused."""
_LONG_ROW = 128
"""Rows of that many elements are not put together within a fusion."""
_CONDITIONAL = frozenset(("concatenate", "dynamic_update_slice", "pad", "reduce", "reduce_window"))
"""Ops whose code has branches or loops: it is in a fusion only once."""
_OUTSIDE = -1
"""The user that a returned value has."""


@dataclass
class Group:
    """Ops that are computed together.

    root: the last of them. members: with it, by how often code for each is made. direct: for what it reads and
    the members, whether the path to the root is elementwise.
    """

    root: int
    members: dict[int, int] = field(default_factory=dict[int, int])
    reads: dict[Name, bool] = field(default_factory=dict[Name, bool])


@dataclass
class HostFusion:
    """The fusion of a list of ops.

    types: of values on a device. returned: the values that are stored in any case.
    """

    ops: Sequence[HostOp]
    types: Mapping[Name, TensorType]
    returned: Sequence[Name]
    makers: dict[Name, int] = field(default_factory=dict[Name, int])
    users: list[dict[int, None]] = field(default_factory=list[dict[int, None]])
    shared: list[bool] = field(default_factory=list[bool])
    readers: dict[Name, int] = field(default_factory=dict[Name, int])
    read_by: dict[tuple[Name, int], int] = field(default_factory=dict[tuple[Name, int], int])
    _pointwise: list[bool] = field(default_factory=list[bool])
    _fusible: list[bool] = field(default_factory=list[bool])
    _expensive: list[bool] = field(default_factory=list[bool])

    def groups(self) -> list[Group]:
        """What runs at once, in the order of the ops; ops that are fused into all their users are in theirs."""
        self.makers = {name: n for n, op in enumerate(self.ops) for name in op.makes}
        self.users = [{} for _ in self.ops]
        for number, op in enumerate(self.ops):
            for name in op.reads:
                maker = self.makers.get(name)
                if maker is not None:
                    self.users[maker][number] = None
        self._pointwise = [is_pointwise(op) for op in self.ops]
        self._fusible = [
            len(op.makes) == 1 and (p or is_movable(op.kind))
            for op, p in zip(self.ops, self._pointwise, strict=True)
        ]
        self._expensive = [self._is_expensive(op) for op in self.ops]
        single = len(self.returned) == 1
        stored = {self.makers[name] for name in self.returned if name in self.makers}
        roots = stored if single else set[int]()
        for number in stored:
            self.users[number][_OUTSIDE] = None
        self.shared = [len(users) > 1 for users in self.users]
        kept = self._not_repeated(roots) | roots
        found: list[Group] = []
        removed = bytearray(len(self.ops))
        for number in range(len(self.ops) - 1, -1, -1):
            if not removed[number]:
                found.append(self._group(number, kept, removed))
        return found[::-1]

    def _group(self, root: int, kept: set[int], removed: bytearray) -> Group:
        """The group of an op, which takes in what it can."""
        group = Group(root, {root: 1})
        if not self._is_consumer(root) and self.ops[root].kind != LIBRARY_REDUCTION:
            group.reads = dict.fromkeys(self.ops[root].reads, False)
            return group
        accesses: dict[Name, set[int]] = defaultdict(set)  # by value, the members at whose places it is read
        self.readers = defaultdict[Name, int](int)  # by value, the members that read it
        direct: dict[Name, bool] = {}
        reused: dict[Name, str] = {}
        waiting: list[int] = []
        self._open(root, root, "use", True, {root}, accesses, direct, reused, waiting)
        reductions = self.ops[root].kind == "reduce"
        done = set[int]()
        while waiting:
            number = -heappop(waiting)
            if number in done:
                continue
            done.add(number)
            op = self.ops[number]
            (name,) = op.makes
            if number in kept or not self._takes(root, number, reused[name], group):
                continue
            count = sum(group.members[each] for each in accesses[name])
            is_fusion = len(group.members) > 1 and self.ops[root].kind != LIBRARY_REDUCTION
            if is_fusion and self._is_repeated(number, name, root, count):
                continue
            if op.kind == "reduce" and reductions > _MOST_REDUCTIONS:
                continue
            reductions += op.kind == "reduce"
            group.members[number] = count
            is_direct, use, places = direct.pop(name), reused[name], accesses[name]
            self._leave(number, root, removed)
            for read in op.reads:
                maker = self.makers.get(read)
                if maker is not None and not removed[number]:
                    self.users[maker][root] = None
                elif maker is not None:
                    self.users[maker].pop(number, None)
                    self.users[maker][root] = None
            self._open(number, root, use, is_direct, places, accesses, direct, reused, waiting)
        group.reads = direct
        for name in direct:
            self.read_by[name, root] = self.readers[name]
        return group

    def _is_repeated(self, number: int, name: Name, root: int, count: int) -> bool:
        """Whether code for an op would be in a fusion too often."""
        kind = self.ops[number].kind
        if kind == "broadcast_in_dim":
            return False
        if count > _MOST_REPETITIONS:
            return True
        others = sum(self.read_by.get((name, user), 1) for user in self.users[number] if user != root)
        return kind in _CONDITIONAL and (count > 1 or self.readers[name] + others > 1)

    def _leave(self, number: int, root: int, removed: bytearray) -> None:
        """An op is computed in the group of the root now; it is removed if that was its last user."""
        self.users[number].pop(root, None)
        removed[number] = not self.users[number]

    def _open(
        self,
        number: int,
        root: int,
        use: str,
        is_direct: bool,
        places: set[int],
        accesses: dict[Name, set[int]],
        direct: dict[Name, bool],
        reused: dict[Name, str],
        waiting: list[int],
    ) -> None:
        """Notes what a member of a group reads, and how."""
        op = self.ops[number]
        pointwise = self._pointwise[number]
        for index, name in enumerate(op.reads):
            accesses[name] |= places if self._keeps_index(op, name) else {number}
            self.readers[name] += name not in op.reads[:index]
            own = self._use(op, number, index, name)
            if use != "use" and own != "reuse":
                own = use
            known = reused.get(name)
            reused[name] = own if known is None or known == own == "use" else "reuse"
            same = (is_direct and pointwise) or (is_in_place(op) and number == root and index == 0)
            direct[name] = direct.get(name, True) and same
            maker = self.makers.get(name)
            if maker is not None and self._fusible[maker]:
                heappush(waiting, -maker)

    def _keeps_index(self, op: HostOp, name: Name) -> bool:
        """Whether an op reads an operand at the places of its own elements, in any order."""
        given, made = self.types.get(name), self.types.get(op.makes[0])
        same = given is not None and made is not None and given.shape == made.shape
        return same or op.kind in ("transpose", "copy")

    def _use(self, op: HostOp, number: int, index: int, name: Name) -> str:
        """How often and in which order an op reads the elements of an operand."""
        if self._pointwise[number]:
            given, made = self.types.get(name), self.types.get(op.makes[0])
            return "use" if given is None or made is None or elements(given) == elements(made) else "reuse"
        if op.kind == "broadcast_in_dim":
            given, made = self.types.get(name), self.types.get(op.makes[0])
            return "move" if given and made and elements(given) == elements(made) else "reuse"
        if op.kind in ("pad", "reduce", "dynamic_slice", "gather"):
            return "move" if index == 0 else "reuse"
        return "move"

    def _is_consumer(self, number: int) -> bool:
        op = self.ops[number]
        return self._fusible[number] or (op.kind == "reduce" and op.computed is not None)

    def _takes(self, root: int, number: int, use: str, group: Group) -> bool:
        """Whether the group of a root takes in an op that makes what it reads."""
        op, last = self.ops[number], self.ops[root]
        if last.kind == LIBRARY_REDUCTION:
            is_known = self._pointwise[number] and len(op.reads) <= 2 and op.kind not in _NOT_IN_LIBRARY
            return not self.shared[number] and (is_known or op.kind in _IN_LIBRARY)
        if self._is_copied(number) or self._is_copied(root):
            return False
        if self._expensive[number] and use == "reuse":
            return False
        is_repeated = len(self.users[number]) > 1
        if is_repeated and self._expensive[number] and not self._is_free(op):
            return False
        if is_in_place(last) and last.reads:
            changed = last.reads[0]
            moves = not self._pointwise[number] and changed in op.reads
            return not moves or op.kind in ("slice", "dynamic_slice")
        del group
        return True

    def _is_copied(self, number: int) -> bool:
        """Whether an op puts together many operands, or long rows: then it is a copy of memory, and not fused."""
        op = self.ops[number]
        if op.kind != "concatenate":
            return False
        made = self.types.get(op.makes[0])
        row = made.shape[-1] or 0 if made is not None and len(made.shape) > 1 else 0
        given = [type_.shape[-1] or 0 for name in op.reads if (type_ := self.types.get(name)) and type_.shape]
        return len(op.reads) > _MOST_CONCATENATED or (row >= _LONG_ROW and max(given, default=row) < row)

    def _is_free(self, op: HostOp) -> bool:
        """Whether an op is repeated whatever it costs: broadcasts, and conversions to more bits."""
        return op.kind == "broadcast_in_dim" or op.kind == "iota"

    def _is_expensive(self, op: HostOp) -> bool:
        step = op.computed
        if op.kind in _EXPENSIVE:
            return True
        if op.kind in _QUOTIENTS:
            return not self._has_one_divisor(op)
        if step is None:
            return False
        made = step.record.results[0] if step.record.results else None
        if op.kind == "convert":
            given = step.record.operands[0]
            return (
                made is not None and made.element == "bf16" and given is not None and given.element == "f32"
            )
        if op.kind in ("sine", "cosine", "tan"):
            return made is not None and made.element.startswith("complex")
        return is_narrowed(step)

    def _has_one_divisor(self, op: HostOp) -> bool:
        """Whether what is divided by is repeated: then XLA multiplies by its reciprocal."""
        divisor = self.makers.get(op.reads[1]) if len(op.reads) > 1 and op.kind == "divide" else None
        made = self.types.get(op.makes[0])
        if divisor is None or self.ops[divisor].kind != "broadcast_in_dim" or made is None:
            return False
        type_ = self.types.get(self.ops[divisor].reads[0]) if self.ops[divisor].reads else None
        return made.element[0] not in "iu" and (type_ is None or elements(type_) < elements(made))

    def _not_repeated(self, roots: set[int]) -> set[int]:
        """Ops that read more than they make, and that some user cannot take on each way to it."""
        found = set[int]()
        for number in range(len(self.ops) - 1, -1, -1):
            users = self.users[number]
            if not self._fusible[number] or len(users) < 2 or not self._reads_more(number):
                continue
            if not all(self._on_all_paths(number, user, found | roots, {}) for user in users):
                found.add(number)
        return found

    def _reads_more(self, number: int) -> bool:
        """Whether an op reads several large operands, with more elements than it makes."""
        op = self.ops[number]
        made = self.types.get(op.makes[0])
        if made is None:
            return False
        rank = _true_rank(made)
        large = total = 0
        for index, name in enumerate(op.reads):
            maker, type_ = self.makers.get(name), self.types.get(name)
            is_made_here = maker is not None and self.ops[maker].kind in ("broadcast_in_dim", "iota")
            if type_ is None:
                continue
            large += not is_made_here and _true_rank(type_) >= rank
            total += elements(type_) if name not in op.reads[:index] else 0
        return large > 1 and total > elements(made)

    def _on_all_paths(self, producer: int, consumer: int, kept: set[int], known: dict[int, bool]) -> bool:
        """Whether an op is fused into another whichever way its value takes to there."""
        if consumer == producer:
            return True
        if consumer == _OUTSIDE or not self._is_consumer(consumer):
            return False
        if consumer in known:
            return known[consumer]
        found = True
        for index, name in enumerate(self.ops[consumer].reads):
            maker = self.makers.get(name)
            if maker is None or maker < producer or not self._reaches(producer, maker):
                continue
            use = self._use(self.ops[consumer], consumer, index, name)
            can = (
                maker not in kept
                and self._fusible[maker]
                and self._takes(consumer, maker, use, Group(consumer))
            )
            if not can or not self._on_all_paths(producer, maker, kept, known):
                found = False
                break
        known[consumer] = found
        return found

    def _reaches(self, producer: int, number: int) -> bool:
        """Whether an op needs what another makes."""
        waiting, seen = [number], {number}
        while waiting:
            each = waiting.pop()
            if each == producer:
                return True
            for name in self.ops[each].reads:
                maker = self.makers.get(name)
                if maker is not None and maker >= producer and maker not in seen:
                    seen.add(maker)
                    waiting.append(maker)
        return False


def _true_rank(type_: TensorType) -> int:
    return sum(size != 1 for size in type_.shape)
