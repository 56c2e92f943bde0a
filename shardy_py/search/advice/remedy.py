"""Remedies: changes of annotations with what they cost before and after, in the words of JAX or of MLIR.

Not here: which changes are proposed (`proposals.py`), trying them (`adviser.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from shardy_py.base.records import dataclass
from shardy_py.base.terminal import lines_text
from shardy_py.hardware.cost import Cost
from shardy_py.mlir.location_names import location_text, name_stack
from shardy_py.mlir.symbols import Symbols, module_of
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.report.tables import bytes_text
from shardy_py.report.verdict import family_name
from shardy_py.search.advice.pasting import spec_text
from shardy_py.search.advice.replacing import SuggestedRewrite
from shardy_py.search.advice.sites import ExpressionSite
from shardy_py.search.advice.torch_layers import TorchLayer
from shardy_py.search.advice.torch_plans import (
    NO_PLAN,
    AxisPlan,
    code_of_plans,
    merged_plans,
    plan_of,
    words_of_plan,
)
from shardy_py.search.advice.torch_words import code_of, placements_text, words_of_values
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.xla.prepare.explicit_axes import given_by

EditKind = Literal["argument", "result", "constraint", "rewrite"]
Language = Literal["mlir", "jax", "jax with explicit axes", "torch"]
"""Whose terms an instruction is in; with explicit axes JAX has other functions."""
_CONSTRAINT = "with_sharding_constraint"
_LISTED = 3
"""The number of edits of a remedy in the text."""


@dataclass(frozen=True)
class Edit:
    """One annotation to change, or one op to rewrite.

    values: of the source program, which all get the sharding; the result of the op. sharding: None removes
    the annotation. site: the expression that is constrained; None: arguments, results, or an existing
    constraint. rewrite: of the op. is_implied: whether other edits of the proposal say it, in the words of
    torch.
    """

    kind: EditKind
    values: tuple[ValueEntry, ...]
    sharding: TensorSharding | None
    site: ExpressionSite | None = None
    rewrite: SuggestedRewrite | None = None
    is_implied: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for edits that change the program alike."""
        return tuple(map(id, self.values)), self.sharding, self.rewrite

    def words(self, language: Language) -> str:
        """Returns the edit as an instruction."""
        if self.rewrite is not None:
            return self.rewrite.words(self.values[0].op)
        if language == "torch" and self.sharding is not None:
            return self._words_of_torch(self.sharding)
        return self._words_of_jax(language) if language.startswith("jax") else self._words_of_mlir()

    def _words_of_torch(self, sharding: TensorSharding) -> str:
        if self.kind != "constraint":
            return words_of_values(self.values, sharding, self.mesh())
        place = name_stack(self.values[0].location) or str(self.values[0])
        return f"redistribute the result of {place}: {placements_text(sharding, self.mesh())}"

    @property
    def plan(self) -> AxisPlan:
        """The styles of torch that say the constraint; without any where styles do not."""
        value = self.values[0].value
        if self.kind != "constraint" or self.sharding is None or value is None:
            return NO_PLAN
        return plan_of(value, self.sharding)

    def mesh(self) -> Mesh:
        """Returns the mesh of the new sharding."""
        assert self.sharding is not None
        return mesh_of(self.sharding, Symbols(module_of(self.values[0].op)).meshes())

    def _words_of_jax(self, language: Language) -> str:
        if self.kind == "constraint":
            return self._constraint_of_jax(_CONSTRAINT if language == "jax" else self._explicit())
        by_kind = {"argument": "in_shardings", "result": "out_shardings"}
        parts: list[str] = []
        for role, keyword in by_kind.items():
            labels = [entry.label or entry.name for entry in self.values if entry.role == role]
            if labels:
                parts.append(f"{keyword}= of {_family(labels)}")
        spec = "None" if self.sharding is None else spec_text(self.sharding)
        return f"{' and '.join(parts)}: {spec}"

    def _explicit(self) -> str:
        """The call that gives the values a sharding where axes are explicit."""
        given = None if self.site is not None else given_by(self.values[0].op)
        return given or "jax.sharding.reshard"

    def _constraint_of_jax(self, function: str) -> str:
        first = self.values[0]
        place = position_of(first.location) if self.site is None else self.site.place
        at = (
            f"{place.file}:{place.line}"
            if place is not None and place.file
            else location_text(first.location)
        )
        if self.sharding is None:
            return f"remove {function} at {at}"
        spec = spec_text(self.sharding)
        if self.site is None:
            return f"{function} at {at}: {spec}"
        if self.site.name:
            return f"{self.site.name} = {function}({self.site.name}, {spec}) after {at}"
        return f"{function}({self.site.words}, {spec}) at {at}"

    def _words_of_mlir(self) -> str:
        first = self.values[0]
        more = f" and {len(self.values) - 1} more" if len(self.values) > 1 else ""
        place = location_text(first.location) if self.kind == "constraint" else ""
        label = f" ({first.label})" if first.label else f" [{place}]" if place else ""
        what = f"{first}{label}{more}"
        if self.kind == "constraint":
            given = "remove the constraint on" if self.sharding is None else "constrain"
        else:
            given = "remove the sharding of" if self.sharding is None else "shard"
        return f"{given} {what}" + ("" if self.sharding is None else f": {self.sharding}")


Proposal = tuple[Edit, ...]
"""Edits that are tried together."""


@dataclass(frozen=True)
class Effect:
    """The costs of a program: all collectives, those concerned, and the bytes kept on each device.

    kept_bytes: of arguments and results.
    """

    total: Cost
    own_bytes: int
    kept_bytes: int


@dataclass(frozen=True)
class Remedy:
    """Edits that make a collective cheaper, and the program with it.

    words: the edits as an instruction. before, after: the costs without and with them.
    """

    edits: tuple[Edit, ...]
    words: str
    before: Effect
    after: Effect

    def __str__(self) -> str:
        old, new = self.before, self.after
        text = f"{self.words}  ({bytes_text(old.total.bytes)} -> {bytes_text(new.total.bytes)}"
        if new.kept_bytes > old.kept_bytes:
            kept = f"{bytes_text(old.kept_bytes)} -> {bytes_text(new.kept_bytes)}"
            text += f"; arguments and results {kept} on each device"
        return lines_text((f"{text})",))


@dataclass(frozen=True)
class Advice:
    """The best remedies for a collective, best first, and how many were tried."""

    remedies: tuple[Remedy, ...]
    tried: int

    @property
    def lines(self) -> tuple[str, ...]:
        """The remedies, a line each, or that none was found."""
        if self.remedies:
            return tuple(map(str, self.remedies))
        return (f"no single annotation helps ({self.tried} tried)",) if self.tried else ()


NO_ADVICE = Advice((), 0)


def code_of_edits(edits: Sequence[Edit], layers: Mapping[str, TorchLayer]) -> tuple[str, ...]:
    """Returns lines of torch to paste for edits: calls, and placements by name. layers: of the model.

    None for constraints of which styles say only some.
    """
    lines, plans = list[str](), list[AxisPlan]()
    for edit in edits:
        if edit.sharding is None or edit.is_implied:
            continue
        if edit.kind != "constraint":
            lines.append(code_of(edit.values, edit.sharding, edit.mesh(), layers))
        else:
            plans.append(edit.plan)
    return (*lines, *(code_of_plans(plans) if all(plan.styles for plan in plans) else ()))


def words_of(edits: Sequence[Edit], language: Language) -> str:
    """Returns edits as an instruction."""
    said = [edit for edit in edits if not (edit.is_implied and language == "torch")]
    planned = [edit for edit in said if language == "torch" and edit.plan.styles]
    plans = map(words_of_plan, merged_plans(edit.plan for edit in planned))
    texts = list(dict.fromkeys((*plans, *(edit.words(language) for edit in said if edit not in planned))))
    more = f"; and {len(texts) - _LISTED} more alike" if len(texts) > _LISTED else ""
    return "; ".join(texts[:_LISTED]) + more


def is_expressible(sharding: TensorSharding) -> bool:
    """Returns whether a `PartitionSpec` can express a sharding: whole axes only."""
    axes: list[AxisRef] = [axis for dimension in sharding.dimensions for axis in dimension.axes]
    return all(axis.sub_axis is None for axis in axes)


def _family(labels: Sequence[str]) -> str:
    """One name for labels that differ in numbers only."""
    if len(labels) == 1:
        return labels[0]
    names = list(dict.fromkeys(map(family_name, labels)))
    return ", ".join(names)
