"""Which values are never stored on a chip, because XLA computes them where they are used.

Elementwise ops, broadcasts and other cheap ops are fused into consumers of that kind, expensive ones only if
they are computed once. Reductions take elementwise producers of their operand. Not here: fusion on the host
(`host_fusion.py`). Source: openxla/xla, xla/service/instruction_fusion.cc and its backends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from math import prod
from typing import NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.computed_again import Computed, is_computed_again
from shardy_py.xla.buffers.facet import Tiled
from shardy_py.xla.buffers.fused_steps import FusedSteps
from shardy_py.xla.buffers.fusion_costs import fused_by_bytes, left_by_bytes, widths_of
from shardy_py.xla.buffers.in_place import beside_product
from shardy_py.xla.buffers.inner_products import is_inner, is_turned
from shardy_py.xla.buffers.local_sizes import ELEMENT_BYTES
from shardy_py.xla.buffers.needed_orders import has_batch_in_lanes
from shardy_py.xla.buffers.shifted import shifted_values
from shardy_py.xla.buffers.storing import StoringKind, StoringKinds, makes_one_element, starts_with
from shardy_py.xla.buffers.tpu.einsum_loops import products_in_loops
from shardy_py.xla.buffers.with_products import StepAlone, behind_products, instead_of_product
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.facet import COMPILED, NodeForm


class FusedStep(NamedTuple):
    """A stored step with those fused into it.

    members: these, each behind those fused into it, the stored one last. needs: the stored values they read.
    over: those of them in whose place the result may be: that no product reads.
    """

    members: list[PlannedOp]
    needs: list[Name]
    over: Collection[Name]


_MANY, _NONE = -1, -2
"""Instead of the number of the one stored step that others are computed in: it is one of several, or none."""


@dataclass(frozen=True, eq=False)
class Fusion:
    """The model of fusion of steps, which are known by their numbers here.

    sizes: of values. sent: for each step. results: that the program returns. kinds: of the records of steps.
    reads: for each step the stored names of what it reads. types: of values, on a device. joins: whether
    fusions with several results are made of these (`several_results.py`), and what moves fewer bytes if it is
    stored is stored in any case (`fusion_costs.py`).
    """

    steps: Sequence[PlannedOp]
    sizes: Mapping[Name, int]
    sent: Sequence[Sequence[Sent]]
    results: Sequence[Name]
    kinds: StoringKinds
    reads: Sequence[Sequence[Name]]
    on_tpu: bool = False
    types: Mapping[Name, TensorType] = field(default_factory=dict[Name, TensorType])
    joins: bool = False

    @cached_property
    def _kinds(self) -> list[StoringKind]:
        of = self.kinds.of
        return [of(step.record) for step in self.steps]

    @cached_property
    def _users(self) -> dict[Name, list[int]]:
        """The steps that read each value."""
        users: dict[Name, list[int]] = {}
        for number, names in enumerate(self.reads):
            for name in names:
                known = users.get(name)
                if known is None:
                    users[name] = [number]
                elif known[-1] != number:
                    known.append(number)
        return users

    @cached_property
    def shifted(self) -> set[Name]:
        """The values that are stored with the sums of their exponentials."""
        return shifted_values(self.steps, self.reads, self._users, self.types) if self.joins else set()

    @property
    def fused(self) -> set[Name]:
        """The values that are computed in their consumers."""
        return self._computed.fused

    @cached_property
    def _computed(self) -> Computed:
        steps, users, on_tpu = self.steps, self._users, self.on_tpu
        kinds, sent, sizes = self._kinds, self.sent, self.sizes
        returned = set(self.results)
        found: set[Name] = set()
        again: dict[int, list[int]] = {}
        broadcast = {
            step.results[0]
            for step, kind in zip(steps, kinds, strict=True)
            if kind.is_broadcast and sizes.get(step.operands[0], 0) > 8
        }
        roots = [*range(len(steps))]
        """The step that each is computed in, which is stored."""
        products = set[int]()
        """The steps that are computed with a product."""
        taking: list[StoringKind | None] = [None] * len(steps)
        """The kinds of the steps that may take in others."""
        repeated, cut = set[int](), set[int]()
        """The steps whose elements are read repeatedly where they are computed; those sliced there."""
        for number in range(len(steps) - 1, -1, -1):
            step, kind, own = steps[number], kinds[number], sent[number]
            row = kind.row
            is_product, is_alone = on_tpu and row.is_product, on_tpu and kind.is_alone_on_tpu
            takes = kind.is_cheap or row.takes_plain or is_product or (on_tpu and row.takes_turned)
            in_loop = number in self._in_loops
            if takes and not (
                in_loop or is_alone or step.blocks or (_gathers(own) and not self._gathers_apart(number))
            ):
                taking[number] = kind
            if is_product:
                products.add(number)
                is_summed = in_loop or (own and not self._gathers_apart(number))
                is_cut = not cut.isdisjoint(users.get(step.results[0], ()))
                if not is_summed and not is_cut and self._joins(step, taking, returned, roots, products):
                    found.add(step.results[0])
                    roots[number] = roots[users[step.results[0]][0]]
                    products.add(roots[number])
                continue
            if not kind.is_cheap or step.blocks or len(step.results) != 1:
                continue
            if is_alone or (own and not self._gathers_apart(number)):
                continue
            name = step.results[0]
            if name in returned or name in self.shifted:
                continue
            consumers = users.get(name, ())
            if on_tpu and kind.is_elementwise and not makes_one_element(step) and self._are_slices(consumers):
                continue
            into = roots[consumers[0]] if len(consumers) == 1 else _root_of(consumers, roots)
            if (
                row.is_always_fused
                or (on_tpu and kind.is_broadcast and self._is_base(step, consumers))
                or (
                    (into >= 0 or not kind.is_expensive or (on_tpu and not makes_one_element(step)))
                    and not (on_tpu and into == _MANY and name in self._instead_of_product)
                    and self._is_fused_into_all(kind, step, consumers, taking, broadcast, repeated)
                )
            ):
                found.add(name)
                roots[number] = into
                if True in [kinds[each].is_broadcast or each in repeated for each in consumers]:
                    repeated.add(number)
                if on_tpu and True in [kinds[each].is_slice or each in cut for each in consumers]:
                    cut.add(number)
            elif on_tpu and len(consumers) > 1 and is_computed_again(kind, step, self.types):
                again[number] = [
                    each
                    for each in consumers
                    if not kinds[each].row.is_product
                    and self._is_fused_into_all(kind, step, (each,), taking, broadcast, repeated)
                ]
        if on_tpu:
            found |= {*self._inner_products(roots, products)} - returned
        if self.joins:
            given = FusedSteps(steps, self.reads, users, found, returned)
            found = left_by_bytes(given, self._elements, widths_of(steps, self.reads))
            found -= {steps[number].results[0] for number in self._in_loops}
        return Computed(found, self._computed_again(again, found, products))

    @cached_property
    def _in_loops(self) -> set[int]:
        return products_in_loops(self.steps, self.sent, self._users) if self.joins else set()

    def _elements(self, name: Name) -> int:
        type_ = self.types.get(name)
        return 0 if type_ is None else prod(size or 0 for size in type_.shape)

    def _computed_again(
        self, again: Mapping[int, list[int]], fused: Collection[Name], products: Collection[int]
    ) -> dict[Name, list[int]]:
        """The steps that compute a stored value again: from stored values, not with a product."""
        return {
            self.steps[number].results[0]: readers
            for number, readers in again.items()
            if self._kinds[number].is_broadcast
            or (number not in products and not any(name in fused for name in self.reads[number]))
        }

    def _inner_products(self, roots: Sequence[int], products: Collection[int]) -> Iterator[Name]:
        """The values made with a product that are computed in the product that alone reads them, as they are.

        Of products in products, the last come first: one is in another only if neither has one in it already.
        roots: the step that each is computed in, which is stored. products: those that are made with one.
        """
        within: dict[int, list[int]] = {}
        for number in range(len(self.steps)):
            if self._kinds[number].row.is_product:
                within.setdefault(roots[number], []).append(number)
        inner, outer = set[int](), set[int]()
        for root in sorted(products, reverse=True):
            step, readers = self.steps[root], self._users.get(self.steps[root].results[0], ())
            is_sent = self.sent[root] and not self._gathers_apart(root)
            if len(readers) != 1 or len(step.results) != 1 or is_sent or root in outer:
                continue
            (reader,) = readers
            into = roots[reader]
            if {root, into} & self._in_loops:
                continue
            if into < 0 or into in inner or into in outer or step.results[0] in self._sent_names(reader):
                continue
            last = self.steps[into]
            after = [self.steps[each] for each in self._users.get(last.results[0], ())]
            if is_turned(last, after, self.types):
                continue
            own = [self.steps[each] for each in within.get(root, ())]
            if is_inner(step, own, self.steps[reader], self.types):
                inner.add(root)
                outer.add(into)
                yield step.results[0]

    def _gathers_apart(self, number: int) -> bool:
        """True if an op on TPUs gathers whole operands before it, and its result is not sent.

        Other ops than products have to be fused with others, too.
        """
        if not self.on_tpu:
            return False
        kind = self._kinds[number]
        is_product = COMPILED.of(self.steps[number].record.name).form is NodeForm.PRODUCT
        if not (is_product or (kind.is_cheap and not kind.row.has_halo and not kind.is_sent)):
            return False
        sent = self.sent[number]
        return all(each.operand >= 0 and each.collective.kind == "all_gather" for each in sent)

    def _sent_names(self, number: int) -> set[Name]:
        """The values that are sent before a step."""
        return {self.reads[number][each.operand] for each in self.sent[number] if each.operand >= 0}

    def _is_base(self, step: PlannedOp, consumers: Iterable[int]) -> bool:
        """True for one element everywhere that scatters start with: they write it with what they add."""
        if self.sizes.get(step.operands[0], 0) > ELEMENT_BYTES:
            return False
        return all(starts_with(self.steps[each], step.results[0]) for each in consumers)

    @cached_property
    def _instead_of_product(self) -> set[Name]:
        return instead_of_product(self._alone(), self._users, self.sizes)

    @cached_property
    def _behind_product(self) -> tuple[set[Name], set[Name]]:
        """The values that products do not compute, and those that a convolution does not alone."""
        return behind_products([*self._alone()], self._users)

    def _alone(self) -> Iterator[StepAlone]:
        """The steps of one result that are not sent."""
        for number, (kind, names) in enumerate(zip(self._kinds, self.reads, strict=True)):
            step = self.steps[number]
            if len(step.results) == 1 and not (self.sent[number] and not self._gathers_apart(number)):
                is_alone = kind.row.is_product and has_batch_in_lanes(step.record)
                yield StepAlone(number, kind, step.results[0], names, is_alone)

    def _joins(
        self,
        step: PlannedOp,
        taking: Sequence[StoringKind | None],
        returned: Collection[Name],
        roots: Sequence[int],
        products: Collection[int],
    ) -> bool:
        """True if a product is computed with the elementwise op or reduction that alone reads it."""
        readers = self._users.get(step.results[0], ())
        if len(step.results) != 1 or step.results[0] in returned or not readers:
            return False
        for each in readers:
            kind = taking[each]
            if kind is None or not (kind.is_elementwise or kind.is_transpose or kind.row.takes_plain):
                return False
        into = _root_of(readers, roots)
        return into >= 0 and into not in products

    def _is_fused_into_all(
        self,
        kind: StoringKind,
        step: PlannedOp,
        consumers: Collection[int],
        taking: Sequence[StoringKind | None],
        broadcast: set[Name],
        repeated: set[int],
    ) -> bool:
        """True if an op is fused into steps; an expensive one not where its elements are read repeatedly."""
        is_plain = kind.is_elementwise and (self.on_tpu or broadcast.isdisjoint(step.operands))
        for each in consumers:
            into = taking[each]
            if into is None or (self.sent[each] and step.results[0] in self._sent_names(each)):
                return False
            row = into.row
            if self.on_tpu and into.joins_parts and not self._is_of_one_element(step, kind):
                return False
            is_image = row.tiled is Tiled.IMAGES and len(consumers) == 1
            if row.is_product and step.results[0] in self._behind_product[is_image]:
                return False
            moves = kind.is_transpose or (self.on_tpu and kind.is_cut_or_padded and not row.takes_turned)
            is_taken = moves and (row.is_product or row.takes_turned)
            is_taken |= (is_plain or kind.is_repeatable) and not row.takes_turned
            if (row.takes_plain or row.is_product or row.takes_turned) and not is_taken:
                return False
            is_repeated = into.is_broadcast or (each in repeated and not makes_one_element(step))
            if is_repeated and kind.is_expensive:
                return False
        return True

    def _are_slices(self, consumers: Collection[int]) -> bool:
        """True for several slices, each of which would compute what it reads again."""
        return sum(self._kinds[each].is_slice for each in consumers) > 1

    def _is_of_one_element(self, step: PlannedOp, kind: StoringKind) -> bool:
        """True for one element, also everywhere: XLA pads with it instead of putting it beside others."""
        name = step.operands[0] if kind.is_broadcast else step.results[0]
        return self.sizes.get(name, 0) <= ELEMENT_BYTES

    @cached_property
    def _by_bytes(self) -> set[Name]:
        return fused_by_bytes(FusedSteps(self.steps, self.reads, self._users, self.fused), self.sizes)

    def groups(self, *, saves_reads: bool = False) -> dict[int, FusedStep]:
        """The steps computed in each stored step, by its identity.

        saves_reads: values that several consumers would compute again are stored where that moves fewer
        bytes, as fusion by cost on accelerators does; nothing more if the fusion joins.
        """
        fused = self._by_bytes if saves_reads and not self.joins else self.fused
        again = self._computed.again
        makers: dict[Name, int] = {}
        stored: list[int] = []
        for number, step in enumerate(self.steps):
            if step.results and step.results[0] in fused:
                makers[step.results[0]] = number
            else:
                stored.append(number)
                if step.results and step.results[0] in again:
                    makers[step.results[0]] = number
        return {id(self.steps[number]): self._group(number, makers) for number in stored}

    def _group(self, number: int, makers: Mapping[Name, int]) -> FusedStep:
        """Depth first: in a chain of fused steps each is visited once."""
        reads, steps = self.reads, self.steps
        own = dict.fromkeys(reads[number])
        if makers.keys().isdisjoint(own):
            return FusedStep([steps[number]], [*own], own)
        again = self._computed.again
        members: list[int] = []
        needs: dict[Name, None] = {}
        seen = {number}
        left = [(number, iter(reads[number]))]
        while left:
            last, names = left[-1]
            for name in names:
                maker = makers.get(name)
                if maker is None or last not in again.get(name, (last,)):
                    needs[name] = None
                elif maker not in seen:
                    seen.add(maker)
                    left.append((maker, iter(reads[maker])))
                    break
            else:
                members.append(last)
                left.pop()
        over = beside_product(members, needs, steps, reads, self._kinds, on_tpu=self.on_tpu)
        return FusedStep([steps[each] for each in members], [*needs], over)


def _gathers(sent: Sequence[Sent]) -> bool:
    """True if operands of a step are sent, so that they are stored."""
    return bool(sent) and any(each.operand >= 0 and each.collective.kind != "all_reduce" for each in sent)


def _root_of(numbers: Iterable[int], roots: Sequence[int]) -> int:
    """The one stored step that some are computed in; `_MANY` if these are several, `_NONE` if none is."""
    found = _NONE
    for number in numbers:
        root = roots[number]
        if found == _NONE:
            found = root
        elif root not in (found, _NONE):
            return _MANY
    return found
