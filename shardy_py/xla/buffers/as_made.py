"""The steps whose one result is stored as it is made, under its own name: nearly all.

Not here: what becomes of other steps (`stored.py`), the facts of their records (`storing.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field
from itertools import compress
from typing import NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.local_sizes import LocalSizes
from shardy_py.xla.buffers.settings import CompileSetting
from shardy_py.xla.buffers.storing import StoringKind, StoringKinds
from shardy_py.xla.spmd.program import Name, PlannedOp


class MadeResult(NamedTuple):
    """The result of a step: what a device holds of it (None for others than tensors), and its bytes."""

    kind: StoringKind
    type: TensorType | None
    size: int


@dataclass
class MadeResults:
    """The results of the steps of one block, of which equal steps share one.

    rounded: the values that are stored in bf16 instead of f32.
    """

    setting: CompileSetting
    kinds: StoringKinds
    measure: LocalSizes
    rounded: Collection[Name]
    _known: dict[int, MadeResult | None] = field(default_factory=dict[int, MadeResult | None])
    """By the identity of the key of a step's plan, which the block keeps."""

    def note(
        self, steps: Sequence[PlannedOp], types: dict[Name, TensorType], sizes: dict[Name, int]
    ) -> list[StoringKind | None]:
        """Notes what a device holds of the results of steps that are listed as they are; returns their kinds.

        None for other steps, of which nothing is noted.
        """
        keys, known = [id(step.plan_key) for step in steps], self._known
        known |= {key: self._of(step) for key, step in dict(zip(keys, steps, strict=True)).items()}
        found = [*map(known.__getitem__, keys)]
        if self.rounded:
            pairs = zip(steps, found, strict=True)
            found = [own if own and step.results[0] not in self.rounded else None for step, own in pairs]
        made = [*filter(None, found)]
        names = [step.results[0] for step in compress(steps, found)]
        sizes.update(zip(names, [each.size for each in made], strict=True))
        types.update(
            (name, each.type) for name, each in zip(names, made, strict=True) if each.type is not None
        )
        return [each and each.kind for each in found]

    def _of(self, step: PlannedOp) -> MadeResult | None:
        kind, record = self.kinds.of(step.record), step.record
        is_renamed = kind.is_alias or (kind.row.is_free and not self.setting.on_host)
        is_changed = not self.setting.on_tpu and (kind.is_transpose or kind.row.is_rewritten)
        is_converted = kind.is_conversion and bool(self.rounded)
        if is_renamed or is_changed or is_converted or kind.is_to_host or step.blocks:
            return None
        if not len(step.results) == len(step.targets) == len(record.results) == 1:
            return None
        return MadeResult(kind, *self.measure.of(record.results[0], step.targets[0]))
