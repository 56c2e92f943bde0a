"""The order in which v5p runs events."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.tpu.order import in_tpu_order
from shardy_py.xla.buffers.tpu.records import step_of

_NUMBER = TensorType((), "f32")


def test_constants_do_not_count() -> None:
    """What frees most runs first, also if a constant, which runs before all others, is needed at the end."""
    record = OpRecord("sdy.constant", (), (_NUMBER,), {"value": 1.0})
    events = [
        Event(None, (), ("value",)),
        Event(None, ("value",), ("large",)),
        Event(None, ("value",), ("small",)),
        Event(step_of(record, (), ("one",), None), (), ("one",)),
        Event(None, ("large", "small", "one"), ("result",)),
    ]
    block: Any = SimpleNamespace(
        joined={},
        setting=SimpleNamespace(as_compiled=True),
        sizes={"value": 64, "large": 32, "small": 4, "one": 512, "result": 8},
        types={"one": _NUMBER},
        results=("result",),
    )
    made = [event.makes[0] for event in in_tpu_order(block, events)]
    assert made == ["one", "value", "small", "large", "result"]


def test_what_repeats_an_element_waits_for_its_reader() -> None:
    """Zeros for an op at the end are made right before it, though they are ready at once."""
    many = TensorType((64,), "f32")
    record = OpRecord("stablehlo.broadcast_in_dim", (_NUMBER,), (many,), {"broadcast_dimensions": ()})
    events = [
        Event(step_of(record, ("one",), ("zeros",), None), ("one",), ("zeros",)),
        Event(None, (), ("value",)),
        Event(None, ("value",), ("other",)),
        Event(None, ("other", "zeros"), ("result",)),
    ]
    block: Any = SimpleNamespace(
        joined={},
        setting=SimpleNamespace(as_compiled=True),
        sizes={"one": 4, "zeros": 8, "value": 256, "other": 256, "result": 256},
        types={"zeros": many},
        results=("result",),
    )
    made = [event.makes[0] for event in in_tpu_order(block, events)]
    assert made == ["value", "other", "zeros", "result"]
