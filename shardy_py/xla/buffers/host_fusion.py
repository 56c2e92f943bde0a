"""Which ops XLA's backend for the host fuses, op by op and user by user.

From the last op to the first, each takes in the ops that make its operands, as long as there are any that can
be fused. An op with several users is computed again in each of those that can take it, unless it is
expensive, and is stored beside that if one cannot. An op with several large operands that is not fused into
all its users is not fused at all, because each user would read more. A reduction of the library takes in only
ops that nothing else reads. Not here: the ops (`host_program.py`). Source: openxla/xla,
xla/service/instruction_fusion.cc, xla/service/fusion_node_indexing_evaluation.cc,
xla/service/cpu/cpu_instruction_fusion.cc, xla/backends/cpu/transforms/library_rewriter.cc.

>>> from shardy_py.ops import TABLE, Repeat, TensorType
>>> ops = [HostOp("slice", ("x",), ("s",)), HostOp("reshape", ("s",), ("r",)), HostOp("sort", ("r",), ("y",))]
>>> types = dict.fromkeys("xsry", TensorType((4,)))
>>> [(sorted(group.members), [*group.reads]) for group in HostFusion(ops, types, ("y",)).groups()]
[([0, 1], ['x']), ([2], ['r'])]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from heapq import heappop, heappush

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, Repeat, TensorType
from shardy_py.ops.elementwise import DIVISIONS
from shardy_py.xla.buffers.canonical import is_narrowed
from shardy_py.xla.buffers.dependence import AT_ONCE, Dependence
from shardy_py.xla.buffers.facet import StoredRow, host_row
from shardy_py.xla.buffers.host_program import LIBRARY_REDUCTION, HostOp, elements, is_in_place, is_pointwise
from shardy_py.xla.buffers.local_sizes import measured
from shardy_py.xla.spmd.program import Name

_POLYNOMIALS = ("sine", "cosine", "tan")
"""Functions of reals that the host computes by few operations; of complex numbers they are expensive."""
_MOST_REPETITIONS = 15
"""The most times that code of an op may be in a fusion."""
_MOST_REDUCTIONS = 5
_MOST_CONCATENATED = 8
"""A concatenation of more operands is not fused."""
_LONG_ROW = 128
"""Rows of that many elements are not put together within a fusion, before JAX 0.12."""
_LONG_ROW_BYTES, _COPIED_BYTES = 64, 2048
"""Since then, rows of that many bytes in a tensor of so many."""
_OUTSIDE = -1
"""The user that a returned value has."""


_SAME, _OTHER, _REPEATED = range(3)
"""In which order an op reads the elements of an operand: its own, another one, or some repeatedly."""


@dataclass
class FusedOps:
    """Ops that are computed together.

    root: the last of them. members: with it, by how often code for each is made. reads: the values that are
    stored, and whether each is read by elementwise ops only.
    """

    root: int
    members: dict[int, int]
    reads: dict[Name, bool]


@dataclass
class _Growing:
    """A group that takes in ops; values are numbers.

    reads: as of `FusedOps`. orders: in which order values are read. places: the members at whose places.
    readers: how many members read a value. waiting: the ops that may join, negative. reductions: of members.
    """

    root: int
    members: dict[int, int]
    reductions: int
    reads: dict[int, bool] = field(default_factory=dict[int, bool])
    orders: dict[int, int] = field(default_factory=dict[int, int])
    places: dict[int, set[int]] = field(default_factory=dict[int, "set[int]"])
    readers: dict[int, int] = field(default_factory=dict[int, int])
    waiting: list[int] = field(default_factory=list[int])


@dataclass
class HostFusion:
    """The fusion of a list of ops, each after those that it reads.

    types: of values on a device. returned: the values that are stored in any case. by_library: products of a
    library, whose reductions take them in. numbers: of values, for which the others are lists. makers: the op
    that makes a value, -1 for none. reads: what each op reads, once. users: of each op, those that are left;
    first_users: those before any was fused. read_by: how many members of a group read a value.
    """

    ops: Sequence[HostOp]
    types: Mapping[Name, TensorType]
    returned: Sequence[Name]
    by_library: Set[Name] = frozenset()
    numbers: dict[Name, int] = field(init=False, default_factory=dict[Name, int])
    makers: list[int] = field(init=False, default_factory=list[int])
    reads: list[tuple[int, ...]] = field(init=False, default_factory=list["tuple[int, ...]"])
    users: list[dict[int, None]] = field(init=False)
    first_users: list[Set[int]] = field(init=False)
    read_by: dict[tuple[int, int], int] = field(init=False, default_factory=dict[tuple[int, int], int])
    _names: list[Name] = field(init=False)
    _types: list[TensorType | None] = field(init=False)
    _elements: list[int] = field(init=False)
    _results: list[int] = field(init=False, default_factory=list[int])
    _pointwise: list[bool] = field(init=False)
    _rows: list[StoredRow] = field(init=False)
    _fusible: list[bool] = field(init=False)
    _expensive: list[bool] = field(init=False)
    _kept: set[int] = field(init=False, default_factory=set[int])

    def __post_init__(self) -> None:
        for number, op in enumerate(self.ops):
            self.reads.append(tuple(dict.fromkeys([self._numbered(name) for name in op.reads])))
            made = [self._numbered(name, number) for name in op.makes]
            self._results.append(made[0] if made else -1)
        self._names = [*self.numbers]
        self._types = [self.types.get(name) for name in self._names]
        counts = {id(type_): -1 if type_ is None else elements(type_) for type_ in self._types}
        self._elements = [counts[id(type_)] for type_ in self._types]
        self.users = [{} for _ in self.ops]
        for number, values in enumerate(self.reads):
            for value in values:
                if self.makers[value] >= 0:
                    self.users[self.makers[value]][number] = None
        values = [self.numbers[name] for name in self.returned if name in self.numbers]
        stored = {self.makers[value] for value in values if self.makers[value] >= 0}
        for number in stored:
            self.users[number][_OUTSIDE] = None
        self.first_users = [frozenset(users) for users in self.users]
        pointwise = {_form(op): is_pointwise(op) for op in {_form(op): op for op in self.ops}.values()}
        self._pointwise = [pointwise[_form(op)] for op in self.ops]
        rows = {kind: host_row(kind) for kind in {op.kind for op in self.ops}}
        self._rows = [rows[op.kind] for op in self.ops]
        kinds = zip(self.ops, self._pointwise, self._rows, strict=True)
        self._fusible = [len(op.makes) == 1 and (same or row.is_movable) for op, same, row in kinds]
        self._expensive = [*map(self._is_expensive, range(len(self.ops)))]
        self._kept = stored if len(self.returned) == 1 else set()

    def _numbered(self, name: Name, maker: int = -1) -> int:
        number = self.numbers.setdefault(name, len(self.makers))
        if number == len(self.makers):
            self.makers.append(maker)
        return number

    def groups(self) -> list[FusedOps]:
        """The groups that run, in the order of the ops; those fused into all users are in theirs."""
        self._keep_shared()
        found: list[FusedOps] = []
        removed = bytearray(len(self.ops))
        names = self._names
        for number in range(len(self.ops) - 1, -1, -1):
            if not removed[number]:
                group = self._group(number, removed)
                reads = {names[value]: is_direct for value, is_direct in group.reads.items()}
                found.append(FusedOps(number, group.members, reads))
        return found[::-1]

    def _group(self, root: int, removed: bytearray) -> _Growing:
        """The group of an op, which takes in what it can."""
        kind = self.ops[root].kind
        group = _Growing(root, {root: 1}, reductions=kind == "reduce")
        if not self._fusible[root] and kind not in ("reduce", LIBRARY_REDUCTION):
            group.reads = dict.fromkeys(self.reads[root], False)
            return group
        self._open(group, root, _SAME, {root}, is_direct=True)
        seen = set[int]()
        while group.waiting:
            number = -heappop(group.waiting)
            if number in seen:
                continue
            seen.add(number)
            if number not in self._kept and self._joins(group, number):
                value = self._results[number]
                group.members[number] = self._count(group, value)
                group.reductions += self.ops[number].kind == "reduce"
                self._move(number, root, removed)
                is_direct = group.reads.pop(value)
                self._open(group, number, group.orders[value], group.places[value], is_direct=is_direct)
        for value in group.reads:
            if group.readers[value] > 1:
                self.read_by[value, root] = group.readers[value]
        return group

    def _move(self, number: int, root: int, removed: bytearray) -> None:
        """Makes the root the user of what an op reads, and removes the op if that was its last user."""
        self.users[number].pop(root, None)
        removed[number] = not self.users[number]
        for value in self.reads[number]:
            maker = self.makers[value]
            if maker >= 0:
                self.users[maker][root] = None
                if removed[number]:
                    self.users[maker].pop(number, None)

    def _open(self, group: _Growing, number: int, order: int, places: set[int], *, is_direct: bool) -> None:
        """Notes what a new member of a group reads, and how."""
        op, is_direct = self.ops[number], is_direct and self._pointwise[number]
        values = self.reads[number]
        changed = values[0] if number == group.root and values and is_in_place(op) else -1
        for value in values:
            own = max(self._order(number, value), order)
            at = places if self._keeps_index(number, value) else {number}
            if value in group.reads:
                group.places[value] = group.places[value] | at
                group.readers[value] += 1
                group.orders[value] = own if own == group.orders[value] == _SAME else _REPEATED
                group.reads[value] = group.reads[value] and (is_direct or value == changed)
            else:
                group.places[value], group.readers[value], group.orders[value] = at, 1, own
                group.reads[value] = is_direct or value == changed
                maker = self.makers[value]
                is_by_library = self.ops[group.root].kind == LIBRARY_REDUCTION and self._is_by_library(maker)
                if maker >= 0 and (self._fusible[maker] or is_by_library):
                    heappush(group.waiting, -maker)

    def _keeps_index(self, number: int, value: int) -> bool:
        """True if an op reads an operand at the places of its own elements, in any order."""
        given, made = self._types[value], self._types[self._results[number]]
        same = given is not None and made is not None and given.shape == made.shape
        return same or self.ops[number].kind in ("transpose", "copy")

    def _order(self, number: int, value: int) -> int:
        """In which order an op reads the elements of an operand."""
        kind, pointwise = self.ops[number].kind, self._pointwise[number]
        if pointwise or kind == "broadcast_in_dim":
            given, made = self._elements[value], self._elements[self._results[number]]
            is_whole = given < 0 or made < 0 or given == made
            return _REPEATED if not is_whole else _SAME if pointwise else _OTHER
        is_index = self._rows[number].repeats_others and value != self.reads[number][0]
        return _REPEATED if is_index else _OTHER

    def _joins(self, group: _Growing, number: int) -> bool:
        """True if an op becomes a member of a group that reads what it makes."""
        kind = self.ops[number].kind
        if not self._takes(group.root, number, group.orders[self._results[number]], group.members.keys()):
            return False
        if kind == "reduce" and group.reductions > _MOST_REDUCTIONS:
            return False
        is_plain = len(group.members) == 1 or self.ops[group.root].kind == LIBRARY_REDUCTION
        return is_plain or not self._is_repeated(group, number)

    def _count(self, group: _Growing, value: int) -> int:
        """The number of times that code for a value would be in a group."""
        return sum([group.members[each] for each in group.places[value]])

    def _is_repeated(self, group: _Growing, number: int) -> bool:
        """True if code for an op would be in a group too often."""
        kind, value = self.ops[number].kind, self._results[number]
        if kind == "broadcast_in_dim":
            return False
        count = self._count(group, value)
        if not self._rows[number].is_conditional:
            return count > _MOST_REPETITIONS
        others = sum(self.read_by.get((value, user), 1) for user in self.users[number] if user != group.root)
        return count > 1 or group.readers[value] + others > 1

    def _takes(self, root: int, number: int, order: int, members: Set[int] | None = None) -> bool:
        """True if a group (`members`; None: its root) may have an op that makes what it reads in an order."""
        op, last = self.ops[number], self.ops[root]
        if last.kind == LIBRARY_REDUCTION:
            is_in_library = self._rows[number].is_in_library
            is_known = self._pointwise[number] and len(op.reads) <= 2
            is_known = self._is_by_library(number) or (is_known if is_in_library is None else is_in_library)
            return self.first_users[number] <= (members or {root}) and is_known
        if self._is_copied(number) or self._is_copied(root):
            return False
        if self._expensive[number] and (order == _REPEATED or len(self.users[number]) > 1):
            return False
        # A slice of what is written over is that of its place: others would read what is new.
        is_changed = is_in_place(last) and last.reads[:1] and last.reads[0] in op.reads
        return not is_changed or self._pointwise[number] or op.kind in ("slice", "dynamic_slice")

    def _is_by_library(self, number: int) -> bool:
        """True if an op is a product of the library."""
        return number >= 0 and all(name in self.by_library for name in self.ops[number].makes)

    def _is_copied(self, number: int) -> bool:
        """True if an op puts together many operands, or long rows: then it is a copy, and not fused."""
        op = self.ops[number]
        if op.kind != "concatenate":
            return False
        if len(op.reads) > _MOST_CONCATENATED:
            return True
        made = self._types[self._results[number]]
        if made is None or made.rank <= 1:
            return False
        given = [type_.shape for value in self.reads[number] if (type_ := self._types[value]) is not None]
        has_rows = all(shape[:-1] == made.shape[:-1] and shape != made.shape for shape in given)
        return bool(given) and has_rows and _has_long_rows(made)

    def _is_expensive(self, number: int) -> bool:
        op = self.ops[number]
        if op.kind in DIVISIONS:
            return not self._has_repeated_divisor(number)
        has_polynomial = op.kind in _POLYNOMIALS
        if op.kind == "erf" or (
            TABLE[f"stablehlo.{op.kind}"].repeat is Repeat.EXPENSIVE and not has_polynomial
        ):
            return True
        record = op.computed.record if op.computed is not None else None
        if record is None or op.computed is None or not record.results or record.results[0] is None:
            return False
        element = record.results[0].element
        if op.kind == "convert":
            return (
                element == "bf16" and record.operands[0] is not None and record.operands[0].element == "f32"
            )
        if has_polynomial:
            return element.startswith("complex")
        return element == "bf16" and is_narrowed(op.computed)

    def _has_repeated_divisor(self, number: int) -> bool:
        """True if elements of what is divided by are repeated: then XLA multiplies by their reciprocals."""
        op, made = self.ops[number], self._types[self._results[number]]
        divisor = self.makers[self.numbers[op.reads[1]]] if len(op.reads) > 1 and op.kind == "divide" else -1
        if divisor < 0 or made is None or self.ops[divisor].kind != "broadcast_in_dim":
            return False
        is_smaller = all(self._elements[value] < elements(made) for value in self.reads[divisor])
        return is_smaller and not made.element.startswith(("i", "ui"))

    def _keep_shared(self) -> None:
        """Keeps ops that read more than they make, and that some user cannot take on each way to it."""
        shared = [number for number in range(len(self.ops) - 1, -1, -1) if self._is_shared(number)]
        for first in range(0, len(shared), AT_ONCE):
            some = shared[first : first + AT_ONCE]
            end = max(user for number in some for user in self.users[number]) + 1
            needs = Dependence(self.reads, self.makers, some, end)
            for number in some:
                if not all(self._on_all_paths(number, user, needs) for user in self.users[number]):
                    self._kept.add(number)

    def _is_shared(self, number: int) -> bool:
        """True if an op with several users reads more than it makes."""
        return self._fusible[number] and len(self.users[number]) > 1 and self._reads_more(number)

    def _reads_more(self, number: int) -> bool:
        """True if an op reads several large operands, with more elements than it makes."""
        made = self._types[self._results[number]]
        if made is None or len(self.reads[number]) < 2:
            return False
        rank, large, total = _true_rank(made), 0, 0
        for value in self.reads[number]:
            maker, type_ = self.makers[value], self._types[value]
            if type_ is not None:
                is_repeated = maker >= 0 and self.ops[maker].kind in ("broadcast_in_dim", "iota")
                large += not is_repeated and _true_rank(type_) >= rank
                total += self._elements[value]
        return large > 1 and total > elements(made)

    def _on_all_paths(self, producer: int, consumer: int, needs: Dependence) -> bool:
        """True if an op is fused into another whichever way its value takes to there."""
        if consumer == _OUTSIDE:
            return False
        waiting, seen = [consumer], {producer, consumer}
        while waiting:
            each = waiting.pop()
            if not self._fusible[each]:
                return False
            for value in self.reads[each]:
                maker = self.makers[value]
                if not needs.of(maker, producer):
                    continue
                can = self._fusible[maker] and maker not in self._kept
                if not (can and self._takes(each, maker, self._order(each, value))):
                    return False
                if maker not in seen:
                    seen.add(maker)
                    waiting.append(maker)
        return True


def _form(op: HostOp) -> tuple[str, int]:
    """A key of ops that are computed alike; the record is kept with the op."""
    return op.kind, 0 if op.computed is None else id(op.computed.record)


def _has_long_rows(made: TensorType) -> bool:
    """True if rows are put together by copies of memory, rather than element by element."""
    if not Behaviour.CONCATENATIONS_ARE_COPIED_BY_BYTES.holds:
        return (made.shape[-1] or 0) >= _LONG_ROW
    row = measured(TensorType(made.shape[-1:], made.element), "linear")
    return row >= _LONG_ROW_BYTES and measured(made, "linear") >= _COPIED_BYTES


def _true_rank(type_: TensorType) -> int:
    """The number of dimensions that are not 1."""
    return sum([size != 1 for size in type_.shape])
