"""Arguments and results of a program: which a user shards, and how to keep what propagation decided.

The states, the gradient and the new value of a parameter are in one sharding group with it: they follow it,
and nothing is to be written for them. Not here: the rule (`rules.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from xdsl.ir import SSAValue

from shardy_py.api import Result, Sharding, Value
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ShardingGroupOp
from shardy_py.mlir.ir import find_ops, operands_of
from shardy_py.mlir.typed import integer_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.report.verdict import family_name
from shardy_py.search.advice import spec_text
from shardy_py.search.advice.torch_words import styles_of, words_of_values
from shardy_py.sharding import TensorSharding


@dataclass(frozen=True, eq=False)
class CheckedBoundaries:
    """The arguments and results of the source of a result."""

    result: Result

    @cached_property
    def following(self) -> frozenset[ValueEntry]:
        """The arguments and results that are in a sharding group with an argument before them."""
        groups: dict[int, list[ValueEntry]] = {}
        for op in find_ops(self.result.source.module, ShardingGroupOp.name):
            entries = groups.setdefault(integer_of(op, "group_id"), [])
            entries += self._at(operands_of(op)[0])
        led = (entries for entries in groups.values() if entries and entries[0].role == "argument")
        return frozenset(entry for entries in led for entry in entries[1:])

    def propagated(self, value: Value) -> TensorSharding | None:
        """Returns the closed sharding that a value of the source was propagated to; None if it has none."""
        found = self.result.values.counterpart(value)
        sharding = None if found is None else found.sharding
        if sharding is None or sharding.mesh.is_maximal:
            return None
        known = self._closed.get(id(sharding))
        if known is None:
            dimensions = sharding.value.dimensions
            closed = tuple(replace(each, is_closed=True, priority=None) for each in dimensions)
            known = self._closed[id(sharding)] = sharding, replace(sharding.value, dimensions=closed)
        return known[1]

    @cached_property
    def _closed(self) -> dict[int, tuple[Sharding, TensorSharding]]:
        """By the identity of a sharding, which values share, this and what it is with closed dimensions."""
        return {}

    def remedy(self, value: Value, propagated: TensorSharding) -> str:
        """Returns how to keep the sharding that a value was propagated to."""
        if self.result.source.is_by_torch:
            entries, mesh = self._alike(value, propagated), next(iter(value.meshes.values()))
            words = words_of_values(entries, propagated, mesh)
            where = "the plan of parallelize_module" if styles_of(entries[0], propagated) else "shardings"
            return f"add what was propagated to {where} to keep it: {words}"
        if not self.result.source.is_by_jax:
            return f"add the sharding that was propagated to keep it: {propagated}"
        keyword = "out_shardings" if value.role == "result" else "in_shardings"
        spec, name = spec_text(propagated), value.label or value.name
        return f"pass the sharding that was propagated to jax.jit to keep it: {keyword}= of {name}: {spec}"

    def has_style_of_weight(self, value: Value, propagated: TensorSharding) -> bool:
        """Returns whether a value is a bias that the style of the weight of its module shards, too."""
        module, _, kind = value.label.rpartition(".")
        weights = self._families.get((family_name(f"{module}.weight"), value.role), ())
        weight = next((each for each in weights if each.label == f"{module}.weight"), None)
        found = None if weight is None or kind != "bias" else self.propagated(weight)
        styles = styles_of(value.entry, propagated)
        return bool(styles and weight and found and styles_of(weight.entry, found) == styles)

    def _alike(self, value: Value, propagated: TensorSharding) -> list[ValueEntry]:
        """The value, and those of other layers that have the same name and were propagated to the same."""
        alike = self._families.get((family_name(value.label), value.role), [])
        return [each.entry for each in alike if self.propagated(each) == propagated] or [value.entry]

    @cached_property
    def _families(self) -> dict[tuple[str, str], list[Value]]:
        found: dict[tuple[str, str], list[Value]] = {}
        for value in self.result.source.values.boundaries:
            if value.label:
                found.setdefault((family_name(value.label), value.role), []).append(value)
        return found

    def _at(self, value: SSAValue) -> Iterator[ValueEntry]:
        """The argument that a value is, and the results that it is returned as."""
        entry = self.result.source.values.table.by_value.get(id(value))
        if entry is not None and entry.role == "argument":
            yield entry
        for use in value.uses:
            yield from self._results.get((id(use.operation), use.index), ())

    @cached_property
    def _results(self) -> dict[tuple[int, int], list[ValueEntry]]:
        """The results of functions by terminator and operand."""
        found: dict[tuple[int, int], list[ValueEntry]] = {}
        for entry in self.result.source.values.table.entries:
            if entry.role == "result" and entry.op.regions and entry.op.regions[0].blocks:
                last = entry.op.regions[0].blocks[-1].last_op
                found.setdefault((id(last), entry.index), []).append(entry)
        return found
