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

from shardy_py.base.records import dataclass
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.dependence import AT_ONCE, Dependence
from shardy_py.xla.buffers.host_forms import REPEATED, SAME, OpForm, OpForms
from shardy_py.xla.buffers.host_program import HostOp, elements
from shardy_py.xla.spmd.program import Name

_MOST_REPETITIONS = 15
"""The most times that code of an op may be in a fusion."""
_MOST_REDUCTIONS = 5
_OUTSIDE = -1
"""The user that a returned value has."""


@dataclass
class FusedOps:
    """Ops that are computed together.

    root: the last of them. members: with it, by how often code for each is made. reads: the values that are
    stored, and whether each is read by elementwise ops only.
    """

    root: int
    members: dict[int, int]
    reads: dict[Name, bool]


@dataclass(slots=True, eq=False)
class _Read:
    """How a group reads a value.

    is_direct: whether elementwise ops only do. order: in which its elements are read. places: the members at
    whose places. readers: how many members read it.
    """

    is_direct: bool
    order: int
    places: Set[int]
    readers: int = 1


@dataclass(slots=True, eq=False)
class _Growing:
    """A group that takes in ops; values are numbers.

    members, reads: as of `FusedOps`. waiting: the ops that may join, negative. reductions: of members.
    """

    root: int
    members: dict[int, int]
    reductions: int
    reads: dict[int, _Read] = field(default_factory=dict[int, _Read])
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
    _types: list[TensorType | None] = field(init=False, default_factory=list["TensorType | None"])
    _results: list[int] = field(init=False, default_factory=list[int])
    _forms: list[OpForm] = field(init=False, default_factory=list[OpForm])
    _fusible: list[bool] = field(init=False)
    _expensive: list[bool] = field(init=False)
    _kept: set[int] = field(init=False, default_factory=set[int])

    def __post_init__(self) -> None:
        self._list_ops()
        self._names = [*self.numbers]
        self.users = [{} for _ in self.ops]
        makers = self.makers
        users = self.users
        for number, values in enumerate(self.reads):
            for value in values:
                maker = makers[value]
                if maker >= 0:
                    users[maker][number] = None
        values = [self.numbers[name] for name in self.returned if name in self.numbers]
        stored = {makers[value] for value in values if makers[value] >= 0}
        for number in stored:
            self.users[number][_OUTSIDE] = None
        has_library = any(form.is_by_library for form in self._forms)
        self.first_users = [*map(frozenset[int], self.users)] if has_library else []
        self._fusible = [form.is_fusible for form in self._forms]
        self._expensive = [
            form.is_expensive or (form.is_division and not self._has_repeated_divisor(number))
            for number, form in enumerate(self._forms)
        ]
        self._kept = stored if len(self.returned) == 1 else set()

    def _list_ops(self) -> None:
        """Numbers the values that ops read and make, and finds the forms of ops."""
        types, makers, form_of = self._types, self.makers, OpForms().of
        numbers, type_of = self.numbers, self.types.get
        for number, op in enumerate(self.ops):
            try:
                read = [numbers[name] for name in op.reads]  # nearly all
            except KeyError:  # of values from outside
                for name in op.reads:
                    if numbers.setdefault(name, len(makers)) == len(makers):
                        makers.append(-1)
                        types.append(type_of(name))
                read = [numbers[name] for name in op.reads]
            if len(read) > 1:
                read = [*dict.fromkeys(read)]
            self.reads.append(tuple(read))
            for name in op.makes:
                if numbers.setdefault(name, len(makers)) == len(makers):
                    makers.append(number)
                    types.append(type_of(name))
            made = numbers[op.makes[0]] if op.makes else -1
            self._results.append(made)
            self._forms.append(
                form_of(op, [types[value] for value in read], None if made < 0 else types[made])
            )

    def groups(self) -> list[FusedOps]:
        """The groups that run, in the order of the ops; those fused into all users are in theirs."""
        self._keep_shared()
        found: list[FusedOps] = []
        removed = bytearray(len(self.ops))
        names, forms, makers, fusible = self._names, self._forms, self.makers, self._fusible
        for number in range(len(forms) - 1, -1, -1):
            if removed[number]:
                continue
            form, values = forms[number], self.reads[number]
            takes = form.is_by_library or True in [makers[v] >= 0 and fusible[makers[v]] for v in values]
            if form.is_opened and takes:
                group = self._group(number, removed)
                reads = {names[value]: read.is_direct for value, read in group.reads.items()}
                found.append(FusedOps(number, group.members, reads))
                continue
            is_direct = form.is_opened and form.is_pointwise
            reads = dict.fromkeys([names[value] for value in values], is_direct)
            if form.is_opened and form.is_in_place and values:
                reads[names[values[0]]] = True
            found.append(FusedOps(number, {number: 1}, reads))
        return found[::-1]

    def _group(self, root: int, removed: bytearray) -> _Growing:
        """The group of an op, which takes in what it can."""
        group = _Growing(root, {root: 1}, reductions=self._forms[root].is_reduction)
        kept, results, makers, fusible = self._kept, self._results, self.makers, self._fusible
        members, reads, waiting = group.members, group.reads, group.waiting
        is_by_library = self._forms[root].is_by_library
        number, order, is_direct, last = root, SAME, True, 1
        places: Set[int] = {root}
        while True:
            form, values = self._forms[number], self.reads[number]
            is_direct = is_direct and form.is_pointwise
            changed = values[0] if number == root and values and form.is_in_place else -1
            here: Set[int] | None = None
            for value, own, keeps in zip(values, form.orders, form.keeps, strict=True):
                if keeps:
                    at = places
                else:
                    at = here = here or {number}
                own = own if own > order else order
                read = reads.get(value)
                if read is None:
                    reads[value] = _Read(is_direct or value == changed, own, at)
                    maker = makers[value]
                    if maker >= 0 and (fusible[maker] or (is_by_library and self._is_by_library(maker))):
                        heappush(waiting, -maker)
                else:
                    if at is not read.places:
                        read.places = read.places | at
                    read.readers += 1
                    read.order = own if own == read.order == SAME else REPEATED
                    read.is_direct = read.is_direct and (is_direct or value == changed)
            joined: _Read | None = None
            times = 0
            while waiting and joined is None:
                waited = heappop(waiting)
                if waited != last:  # else it makes several values, and was looked at
                    last, number = waited, -waited
                    read = reads[results[number]]
                    times = 0 if number in kept else self._joins(group, number, read)
                    joined = read if times else None
            if joined is None:
                break
            members[number] = times
            group.reductions += self._forms[number].is_reduction
            self._move(number, root, removed)
            del reads[results[number]]
            order, places, is_direct = joined.order, joined.places, joined.is_direct
        for value, read in reads.items():
            if read.readers > 1:
                self.read_by[value, root] = read.readers
        return group

    def _move(self, number: int, root: int, removed: bytearray) -> None:
        """Makes the root the user of what an op reads, and removes the op if that was its last user."""
        users, makers = self.users, self.makers
        users[number].pop(root, None)
        removed[number] = is_removed = not users[number]
        for value in self.reads[number]:
            maker = makers[value]
            if maker >= 0:
                users[maker][root] = None
                if is_removed:
                    users[maker].pop(number, None)

    def _joins(self, group: _Growing, number: int, read: _Read) -> int:
        """The times that code of an op is in a group that reads what it makes; 0 if it is not a member."""
        form, last = self._forms[number], self._forms[group.root]
        if not self._takes(group.root, number, read.order, group.members.keys()):
            return 0
        if form.is_reduction and group.reductions > _MOST_REDUCTIONS:
            return 0
        count = _count(group.members, read.places)
        if form.is_broadcast or last.is_by_library or len(group.members) == 1:
            return count
        if not form.row.is_conditional:
            return count if count <= _MOST_REPETITIONS else 0  # more code would be in the group too often
        value, root = self._results[number], group.root
        others = sum([self.read_by.get((value, user), 1) for user in self.users[number] if user != root])
        return count if count <= 1 and read.readers + others <= 1 else 0

    def _takes(self, root: int, number: int, order: int, members: Set[int] | None = None) -> bool:
        """True if a group (`members`; None: its root) may have an op that makes what it reads in an order."""
        form, last = self._forms[number], self._forms[root]
        if last.is_by_library:
            is_in_library = form.row.is_in_library
            is_known = form.is_pointwise and len(self.ops[number].reads) <= 2
            is_known = self._is_by_library(number) or (is_known if is_in_library is None else is_in_library)
            return self.first_users[number] <= (members or {root}) and is_known
        if form.is_copied or last.is_copied:
            return False
        if self._expensive[number] and (order == REPEATED or len(self.users[number]) > 1):
            return False
        if not last.is_in_place or form.is_pointwise:
            return True
        # A slice of what is written over is that of its place: others would read what is new.
        over, op = self.ops[root].reads[:1], self.ops[number]
        return not (over and over[0] in op.reads) or op.kind in ("slice", "dynamic_slice")

    def _is_by_library(self, number: int) -> bool:
        """True if an op is a product of the library."""
        return all(name in self.by_library for name in self.ops[number].makes)

    def _has_repeated_divisor(self, number: int) -> bool:
        """True if elements of what is divided by are repeated: then XLA multiplies by their reciprocals."""
        op, made = self.ops[number], self._types[self._results[number]]
        divisor = self.makers[self.numbers[op.reads[1]]] if len(op.reads) > 1 and op.kind == "divide" else -1
        if divisor < 0 or made is None or self.ops[divisor].kind != "broadcast_in_dim":
            return False
        is_smaller = all(_elements(self._types[value]) < elements(made) for value in self.reads[divisor])
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
                total += elements(type_)
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
            for value, order in zip(self.reads[each], self._forms[each].orders, strict=True):
                maker = self.makers[value]
                if not needs.of(maker, producer):
                    continue
                can = self._fusible[maker] and maker not in self._kept
                if not (can and self._takes(each, maker, order)):
                    return False
                if maker not in seen:
                    seen.add(maker)
                    waiting.append(maker)
        return True


def _count(members: Mapping[int, int], places: Set[int]) -> int:
    """The number of times that code for a value that is read at some places would be in a group."""
    return sum(map(members.__getitem__, places))


def _elements(type_: TensorType | None) -> int:
    return -1 if type_ is None else elements(type_)


def _true_rank(type_: TensorType) -> int:
    """The number of dimensions that are not 1."""
    return sum([size != 1 for size in type_.shape])
