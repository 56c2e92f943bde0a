"""Facts that equal ops of the host share: found once, they change nothing of what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shardy_py import Program, propagate
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.buffers.estimate import MemoryEstimate
from shardy_py.xla.buffers.host_equal import merged
from shardy_py.xla.buffers.host_forms import REPEATED, SAME, OpForms
from shardy_py.xla.buffers.host_plain import PlainSteps
from shardy_py.xla.buffers.host_program import HostOp, HostProgram, elements
from shardy_py.xla.spmd.program import Name, PlannedOp

EXAMPLE = Path(__file__).parents[3] / "examples" / "transformer_train.mlir"
ROW, ONE = TensorType((4,)), TensorType((1,))


def program(**types: TensorType) -> HostProgram:
    return HostProgram({**types}, {}, {}, lambda type_: 4 * elements(type_))


def step(name: str, reads: tuple[Name, ...], made: str, type_: TensorType = ROW) -> PlannedOp:
    record = OpRecord(f"stablehlo.{name}", (type_,) * len(reads), (type_,), {})
    return PlannedOp(record, reads, (made,), (None,))


@pytest.mark.parametrize(
    ("name", "reads", "made", "kind"),
    [
        ("negate", ("x",), "row", "negate"),
        ("reshape", ("x",), "row", "reshape"),
        ("negate", ("x",), "one", None),  # may be a known constant
        ("concatenate", ("x", "x"), "row", None),  # may be reduced by parts
        ("dot_general", ("x", "x"), "row", None),  # may be computed by a library
        ("sort", ("x",), "row", None),  # may run in f32
        ("iota", (), "row", None),  # may equal one before
        ("negate", ("x",), "token", None),
    ],
)
def test_the_op_of_a_step(name: str, reads: tuple[Name, ...], made: str, kind: str | None) -> None:
    types = program(x=ROW, row=ROW, one=ONE)
    assert PlainSteps(types).kind(step(name, reads, made)) == kind


def test_an_equal_step_is_not_looked_into_again() -> None:
    first = step("negate", ("x",), "row")
    steps = PlainSteps(program(x=ROW, row=ROW))
    assert steps.kind(first) == "negate"
    assert steps.known == {id(first.plan_key): "negate"}


def estimates(path: Path) -> Iterator[MemoryEstimate]:
    yield propagate(Program.load(path), progress=False).memory().estimate


def test_steps_in_general_become_the_same_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [*estimates(EXAMPLE)]
    monkeypatch.setattr(PlainSteps, "kind", lambda self, step: None)
    assert [*estimates(EXAMPLE)] == found


def test_forms_are_those_of_equal_ops_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [*estimates(EXAMPLE)]
    known = OpForms.of
    monkeypatch.setattr(OpForms, "of", lambda self, *given: known(OpForms(), *given))
    assert [*estimates(EXAMPLE)] == found


def test_the_form_of_an_op_has_the_orders_in_which_it_reads() -> None:
    forms, op = OpForms(), HostOp("add", ("x", "s"), ("y",))
    whole, broadcast = forms.of(op, (ROW, ROW), ROW), forms.of(op, (ROW, ONE), ROW)
    assert (whole.orders, whole.keeps) == ((SAME, SAME), (True, True))
    assert (broadcast.orders, broadcast.keeps) == ((SAME, REPEATED), (True, False))


def test_types_that_are_made_for_collectives_are_one() -> None:
    types = program()
    first, second = (types.named(TensorType((4, 4))) for _ in range(2))
    assert first != second
    assert types.types[first] is types.types[second]
    assert types.sizes[second] == 64


def test_equal_ops_make_values_of_equal_types() -> None:
    """Of two conversions of a value to one type one is left, not of those to different types."""
    ops = [HostOp("convert", ("x",), (name,)) for name in "abc"]
    types: dict[Name, TensorType] = {
        "a": TensorType((4,), "f32"),
        "b": TensorType((4,), "bf16"),
        "c": TensorType((4,), "f32"),
    }
    alias: dict[Name, Name] = {}
    assert merged(ops, types, alias, set()) == ops[:2]
    assert alias == {"c": "a"}
    assert merged(ops, types, {}, {"c"}) == ops
