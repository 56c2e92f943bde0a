"""Kernels that grow by one more are measured as if all their ops were added at once."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from shardy_py import Program, ShardyError, propagate
from shardy_py.xla.targets.gpu.kernel import Kernel, KernelShape
from shardy_py.xla.targets.gpu.kernel_measures import KernelMeasures
from tests.differential.meshes import Width
from tests.differential.programs import wide_program

MEASURES = ("operations", "code", "reduces", "time", "written", "read", "computed")
ORDERED = ("reads", "uses", "costs")


def test_an_extended_kernel_is_measured_as_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    extend, extended = KernelMeasures.extend, list[int]()

    def checked(self: KernelMeasures, kernel: Kernel, producer: Kernel) -> None:
        extend(self, kernel, producer)
        kernel.fill()
        kept = kernel.rows, kernel.in_blocks, kernel.rates
        new = Kernel(kernel.root, {*kernel.members}, [*kernel.ops], outside={**kernel.outside})
        new.rows, new.in_blocks, new.rates = kept
        self._measure(new)
        assert facts(new) == facts(kernel)
        extended.append(len(kernel.members))

    monkeypatch.setattr(KernelMeasures, "extend", checked)
    several = (wide_program(Random(seed), Width(ops=16, annotated=0.3)) for seed in range(16))
    for text in (*several, layers(6)):
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
    return [*plain, *ordered, kernel.places, kernel.codes]


def layers(count: int) -> str:
    """A program of equal layers: a normalization, a product, and a sum with what the layer reads."""
    text = "func.func @main(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> tensor<512x512xf32> {\n"
    text += "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    last = "%x"
    for n in range(count):
        text += f"""  %s{n} = stablehlo.multiply {last}, {last} : tensor<512x512xf32>
  %r{n} = stablehlo.reduce(%s{n} init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %t{n} = stablehlo.rsqrt %r{n} : tensor<512xf32>
  %b{n} = stablehlo.broadcast_in_dim %t{n}, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %m{n} = stablehlo.multiply {last}, %b{n} : tensor<512x512xf32>
  %d{n} = stablehlo.dot_general %m{n}, %w, contracting_dims = [1] x [0]
    : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %e{n} = stablehlo.exponential %d{n} : tensor<512x512xf32>
  %x{n} = stablehlo.add {last}, %e{n} : tensor<512x512xf32>
"""
        last = f"%x{n}"
    return f"{text}  return {last} : tensor<512x512xf32>\n}}"


def test_kernels_of_equal_layers_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    add, extend, added, extended = KernelMeasures._add, KernelMeasures.extend, 0, 0

    def counted(self: KernelMeasures, kernel: Kernel, *others: Any) -> None:
        nonlocal added
        added += 1
        add(self, kernel, *others)

    def noted(self: KernelMeasures, kernel: Kernel, producer: Kernel) -> None:
        nonlocal extended
        extended += 1
        extend(self, kernel, producer)

    monkeypatch.setattr(KernelMeasures, "_add", counted)
    monkeypatch.setattr(KernelMeasures, "extend", noted)
    found: list[tuple[int, int]] = []
    for count in (6, 12):
        before = added, extended
        assert propagate(Program.parse(layers(count)), progress=False).memory("h100").estimate
        found.append((added - before[0], extended - before[1]))
    assert found[0][0] == found[1][0]
    assert found[1][1] >= found[0][1] + 6


def test_a_long_kernel_grows_without_being_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    note, noted = Kernel.note, list[int]()

    def counted(self: Kernel, number: int) -> KernelShape:
        noted.append(self.count)
        return note(self, number)

    monkeypatch.setattr(Kernel, "note", counted)
    steps = (f"  %{n} = stablehlo.reverse %{n - 1}, dims = [0] : tensor<256x256xf32>" for n in range(1, 1200))
    text = f"""func.func @main(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {{
  %0 = stablehlo.reverse %x, dims = [1] : tensor<256x256xf32>
{chr(10).join(steps)}
  return %1199 : tensor<256x256xf32>
}}"""
    assert propagate(Program.parse(text), progress=False).memory("h100").estimate
    assert 100 < max(noted) < 400
