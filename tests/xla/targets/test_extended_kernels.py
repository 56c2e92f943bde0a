"""Kernels that grow by one more are measured as if all their ops were added at once."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from shardy_py import Program, ShardyError, propagate
from shardy_py.xla.targets.gpu.kernel import Kernel
from shardy_py.xla.targets.gpu.kernels import KernelFusion
from tests.differential.meshes import Width
from tests.differential.programs import wide_program

MEASURES = ("operations", "code", "branches", "reduces", "time", "written", "read", "computed")
ORDERED = ("reads", "uses", "costs")


def test_an_extended_kernel_is_measured_as_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    extend, extended = KernelFusion._extend, list[int]()

    def checked(self: KernelFusion, kernel: Kernel, producer: Kernel) -> None:
        extend(self, kernel, producer)
        new = Kernel(kernel.root, {*kernel.members}, rows=kernel.rows)
        self._measure(new)
        assert facts(new) == facts(kernel)
        extended.append(len(kernel.members))

    monkeypatch.setattr(KernelFusion, "_extend", checked)
    for seed in range(16):
        text = wide_program(Random(seed), Width(ops=16, annotated=0.3))
        try:
            assert str(propagate(Program.parse(text), progress=False).memory("h100"))
        except ShardyError:
            continue
    assert max(extended) > 3
    assert len(extended) > 20


def facts(kernel: Kernel) -> list[Any]:
    """All that is measured, in order where that matters."""
    plain = [getattr(kernel, name) for name in MEASURES]
    ordered = [[*getattr(kernel, name).items()] for name in ORDERED]
    return [*plain, *ordered, kernel.places, kernel.codes, kernel.first]
