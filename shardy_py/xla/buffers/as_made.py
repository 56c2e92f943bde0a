"""The steps whose one result is stored as it is made, under its own name: nearly all.

Not here: what becomes of other steps (`stored.py`), the facts of their records (`storing.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
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
        self, step: PlannedOp, types: dict[Name, TensorType], sizes: dict[Name, int]
    ) -> StoringKind | None:
        """Notes what a device holds of the result of a step that is listed as it is; returns the step's kind.

        None for other steps, of which nothing is noted.
        """
        key = id(step.plan_key)
        if key not in self._known:
            self._known[key] = self._of(step)
        made = self._known[key]
        if made is None or (name := step.results[0]) in self.rounded:
            return None
        sizes[name] = made.size
        if made.type is not None:
            types[name] = made.type
        return made.kind

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
