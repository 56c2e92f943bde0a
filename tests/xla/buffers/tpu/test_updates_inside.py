"""What a loop keeps of each of its runs, in the fusions that make it, and what waits for barriers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from shardy_py import Program, propagate
from shardy_py.mlir.dialects.stablehlo import DynamicUpdateSliceOp
from shardy_py.ops import TensorType
from shardy_py.xla.buffers import stored
from shardy_py.xla.buffers.in_order import copied_in_order
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.stored import StoredBlock
from shardy_py.xla.buffers.tpu.records import Records, step_of
from shardy_py.xla.buffers.tpu.updates_inside import with_updates_inside

_RECORDS = Records()
_WHOLE, _PART, _INDEX = TensorType((3, 8), "f32"), TensorType((1, 8), "f32"), TensorType((), "i32")
_PRODUCT = step_of(_RECORDS.of("product", (), ()), (), (), None)


def _update(whole: str, part: str, made: str) -> Event:
    record = _RECORDS.of(DynamicUpdateSliceOp.name, (_WHOLE, _PART, _INDEX), (_WHOLE,))
    step = step_of(record, (whole, part, "i"), (made,), None)
    return Event(step, (whole, part, "i"), (made,), over=(whole,), is_update=True)


def _made(*events: Event, kept: str = "") -> list[tuple[object, ...]]:
    """What each event makes, and the places of what it updates, once updates are in others."""
    found = with_updates_inside(events, kept, {id(_PRODUCT)}, lambda name: name)
    return [(*each.makes, *each.updated) for each in found]


def test_a_product_with_several_results_writes_what_is_kept_of_them() -> None:
    both = Event(_PRODUCT, ("x",), ("y", "z"))
    assert _made(both, _update("s", "y", "t")) == [("t", "z", 0)]
    assert _made(both, _update("s", "z", "t"), _update("r", "y", "q")) == [("q", "t", 0, 1)]


def test_other_updates_stay() -> None:
    both, update = Event(_PRODUCT, ("x",), ("y", "z")), _update("s", "y", "t")
    alone = [("y", "z"), ("t",)]
    assert _made(both, update, kept="y") == alone
    assert _made(both, update, Event(None, ("y",), ("w",))) == [*alone, ("w",)], "read elsewhere"
    assert _made(both, Event(None, ("s",), ("w",)), update) == [("y", "z"), ("w",), ("t",)], "read later"
    assert _made(Event(None, ("a",), ("s",)), both, update) == [("s",), *alone], "not what a loop carries"
    assert _made(Event(None, ("x",), ("y", "z")), update) == alone, "no product"
    assert _made(Event(_PRODUCT, ("x",), ("y",)), update) == [("y",), ("t",)], "one result"


def _layers(number: int) -> str:
    """Products by gathered weights, each behind a barrier with what the one before it makes."""
    tensors = "tensor<2048x1024xbf16>", "tensor<1024x1024xbf16>"
    sharding = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
    given = "".join(f", %w{i}: tensor<1024x1024xf32> {sharding}" for i in range(number))
    lines = [
        f"""  %c{i} = stablehlo.convert %w{i} : (tensor<1024x1024xf32>) -> {tensors[1]}
  %b{i}:2 = stablehlo.optimization_barrier %x{i}, %c{i} : {tensors[0]}, {tensors[1]}
  %d{i} = stablehlo.dot_general %b{i}#0, %b{i}#1, contracting_dims = [1] x [0]
    : ({tensors[0]}, {tensors[1]}) -> {tensors[0]}
  %x{i + 1} = stablehlo.tanh %d{i} : {tensors[0]}"""
        for i in range(number)
    ]
    return f"""sdy.mesh @mesh = <["x"=8]>
func.func @main(%x0: {tensors[0]} {sharding}{given}) -> ({tensors[0]} {sharding}) {{
{chr(10).join(lines)}
  return %x{number} : {tensors[0]}
}}"""


def test_what_is_gathered_behind_a_barrier_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A weight is not gathered long before the product that reads it, so that not all are there at a time."""
    found: list[Event] = []

    def noted(block: StoredBlock, *given: Any) -> Sequence[Event]:
        events = copied_in_order(block, *given)
        found.extend(events)
        return events

    monkeypatch.setattr(stored, "copied_in_order", noted)
    result = propagate(Program.parse(_layers(3), as_compiled=True), progress=False)
    assert result.memory("tpu-v5p").estimate.temporaries > 0
    barriers = [event for event in found if event.step and "barrier" in event.step.record.name]
    gathers = [event for event in found if event.step and "all_gather" in event.step.record.name]
    assert len(barriers) == len(gathers) == 3
    for barrier, gather in zip(barriers, gathers, strict=True):
        assert not {*barrier.makes}.isdisjoint(gather.reads)
