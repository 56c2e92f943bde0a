"""Fusions of several values on TPUs, products in products, and the time to copy into VMEM."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shardy_py import Program, propagate
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.several_results import EmitterKind, Fusible, with_several_results
from shardy_py.xla.buffers.shifted import shifted_values
from shardy_py.xla.buffers.tpu.records import Records, step_of
from shardy_py.xla.spmd.program import Name

_SHAPE, _OTHER = (8, 128), (8,)


def _event(kind: str, reads: Sequence[Name], made: str) -> Event:
    """An event whose step is its kind: loop, narrow, reduce, shifted, product, other."""
    return Event(kind, (*reads,), (made,))


def _fusible(event: Event) -> Fusible | None:
    emitter = EmitterKind.PRODUCT if event.step == "product" else EmitterKind.LOOP
    shape = _OTHER if event.step == "small" else _SHAPE
    if event.step == "other":
        return None
    is_narrow, is_shifted = (event.step == kind for kind in ("narrow", "shifted"))
    return Fusible(emitter, shape, event.step == "reduce", is_narrow, is_shifted)


def _fused(*events: Event, kept: Sequence[Name] = ()) -> list[tuple[Name, ...]]:
    """What each event makes once fusions are one."""
    found = with_several_results(events, _fusible, lambda name: name != "scalar", kept)
    return [event.makes for event in found]


def test_loops_over_one_value_are_one_fusion() -> None:
    first, second = _event("loop", "x", "a"), _event("loop", "xy", "b")
    assert _fused(first, second, kept="ab") == [("a", "b")]
    assert _fused(first, _event("small", "x", "b"), kept="ab") == [("a",), ("b",)]
    assert _fused(_event("loop", ["scalar"], "a"), _event("loop", ["scalar"], "b"), kept="ab") == [
        ("a",),
        ("b",),
    ]


def test_products_of_one_value_are_apart() -> None:
    assert _fused(_event("product", "x", "a"), _event("product", "x", "b"), kept="ab") == [("a",), ("b",)]


def test_a_product_takes_in_what_reads_it() -> None:
    product, total, user = _event("product", "xw", "a"), _event("reduce", "a", "s"), _event("other", "a", "u")
    assert _fused(product, total, user, kept="su") == [("a", "s"), ("u",)]
    assert _fused(product, total, _event("loop", "a", "t"), kept="st") == [("s", "t")]


def test_what_needs_a_whole_sum_waits() -> None:
    product, greatest = _event("product", "xw", "a"), _event("reduce", "a", "m")
    assert _fused(product, greatest, _event("reduce", "am", "s"), kept="ams") == [("a", "m"), ("s",)]


def test_no_fusion_needs_itself() -> None:
    first, between, last = _event("loop", "x", "a"), _event("other", "a", "o"), _event("loop", "xo", "b")
    assert _fused(first, between, last, kept="ab") == [("a",), ("o",), ("b",)]


@pytest.mark.parametrize(("columns", "stored"), [(256, False), (4096, True)])
def test_products_in_products_are_not_stored(columns: int, stored: bool) -> None:
    """A narrow hidden layer is computed in the product that reads it."""
    rows, hidden = 8192, f"tensor<8192x{columns}xf32>"
    text = f"""
        func.func @main(%x: tensor<{rows}x1024xf32>, %w: tensor<1024x{columns}xf32>,
            %v: tensor<{columns}x512xf32>) -> tensor<{rows}x512xf32> {{
          %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
            : (tensor<{rows}x1024xf32>, tensor<1024x{columns}xf32>) -> {hidden}
          %1 = stablehlo.tanh %0 : {hidden}
          %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0]
            : ({hidden}, tensor<{columns}x512xf32>) -> tensor<{rows}x512xf32>
          return %2 : tensor<{rows}x512xf32>
        }}"""
    result = propagate(Program.parse(text), progress=False)
    assert (result.memory("tpu-v5p").estimate.largest_temporary >= rows * columns * 2) is stored


def test_comparisons_are_not_joined_where_others_are() -> None:
    """What is one bit wide is computed with a product only if no loop over its elements is."""
    product, wide = _event("product", "xw", "a"), _event("loop", "a", "t")
    narrow = _event("narrow", "a", "p")
    assert _fused(product, narrow, kept="ap") == [("a", "p")]
    assert _fused(product, narrow, wide, kept="apt") == [("a", "t"), ("p",)]


def test_what_is_shifted_by_a_reduction_is_one_fusion_with_it() -> None:
    """Also with the sum that reads it, and with the product; the largest elements are not stored."""
    product, greatest = _event("product", "xw", "a"), _event("reduce", "a", "m")
    total, user = _event("reduce", "s", "e"), _event("other", "s", "u")
    shifted = product, greatest, _event("shifted", "am", "s"), total, user
    assert _fused(*shifted, kept="eu") == [("s", "e"), ("u",)]
    apart = product, greatest, _event("loop", "am", "s"), total, user
    assert _fused(*apart, kept="eu") == [("a", "m"), ("s", "e"), ("u",)]


@pytest.mark.parametrize(
    ("shape", "maker", "readers", "stored"),
    [
        # As XLA:TPU (v5p) stores f32[16,32,1024] of logits, but not f32[512,1024], what is not made with a
        # product, and what only the exponential reads.
        ((16, 32, 1024), "stablehlo.dot_general", "el", {"s"}),
        ((512, 1024), "stablehlo.dot_general", "el", set[str]()),
        ((16, 32, 1024), "stablehlo.gather", "el", set[str]()),
        ((16, 32, 1024), "stablehlo.dot_general", "e", set[str]()),
    ],
)
def test_logits_less_their_largest_are_stored(
    shape: tuple[int, ...], maker: str, readers: str, stored: set[str]
) -> None:
    records, whole, rows = Records(), TensorType(shape, "f32"), TensorType(shape[:-1], "f32")
    steps = [
        step_of(records.of(maker, (), (whole,)), ("x", "w"), ("a",), None),
        step_of(
            records.of("stablehlo.reduce", (), (rows,), dimensions=(len(shape) - 1,)), ("a",), ("m",), None
        ),
        step_of(records.of("stablehlo.broadcast_in_dim", (), (whole,)), ("m",), ("b",), None),
        step_of(records.of("stablehlo.subtract", (), (whole,)), ("a", "b"), ("s",), None),
        step_of(records.of("stablehlo.exponential", (), (whole,)), ("s",), ("e",), None),
    ]
    users: dict[Name, list[int]] = {"s": [4 + number for number, _ in enumerate(readers)]}
    steps += [
        step_of(records.of("stablehlo.negate", (), (whole,)), ("s",), (name,), None) for name in readers[1:]
    ]
    types: dict[Name, TensorType] = {"a": whole, "s": whole}
    assert shifted_values(steps, [step.operands for step in steps], users, types) == stored


@pytest.mark.parametrize(
    ("shape", "cast", "weighted", "stored"),
    [
        # As XLA:TPU (v5p) stores attention of f32[2,8,1024,1024]: the exponentials of a product itself, and
        # of one that is scaled if the quotients are converted; nothing of what a product reads as it is,
        # of a product that is reshaped, and of what is converted from bf16.
        ((2, 8, 64, 64), "", "q", {"e"}),
        ((2, 8, 64, 64), "scale", "c", {"e"}),
        ((2, 8, 64, 64), "scale", "q", set[str]()),
        ((1, 8, 64, 64), "", "q", set[str]()),
        ((2, 8, 64, 64), "bf16", "c", set[str]()),
    ],
)
def test_exponentials_are_stored_with_their_sums(
    shape: tuple[int, ...], cast: str, weighted: str, stored: set[str]
) -> None:
    records, whole, rows = Records(), TensorType(shape, "f32"), TensorType(shape[:-1], "f32")
    made = TensorType(shape, "bf16") if cast == "bf16" else whole
    middle = "stablehlo.convert" if cast == "bf16" else "stablehlo.multiply"
    scores: Name = "s" if cast else "a"
    largest = {"dimensions": (len(shape) - 1,)}
    listed: list[tuple[str, tuple[Name, ...], Name, TensorType]] = [
        ("stablehlo.dot_general", ("x", "w"), "a", made),
        *([(middle, ("a",), scores, whole)] if cast else []),
        ("stablehlo.reduce", (scores,), "m", rows),
        ("stablehlo.broadcast_in_dim", ("m",), "b", whole),
        ("stablehlo.subtract", (scores, "b"), "d", whole),
        ("stablehlo.exponential", ("d",), "e", whole),
        ("stablehlo.reduce", ("e",), "t", rows),
        ("stablehlo.broadcast_in_dim", ("t",), "u", whole),
        ("stablehlo.divide", ("e", "u"), "q", whole),
        ("stablehlo.dot_general", (weighted, "v"), "o", whole),
    ]
    steps = [
        step_of(
            records.of(op, (), (type_,), **(largest if op == "stablehlo.reduce" else {})),
            given,
            (name,),
            None,
        )
        for op, given, name, type_ in listed
    ]
    reads = [["q" if name == "c" else name for name in step.operands] for step in steps]  # stored in bf16
    users: dict[Name, list[int]] = {}
    for number, names in enumerate(reads):
        for name in names:
            users.setdefault(name, []).append(number)
    types: dict[Name, TensorType] = {
        step.results[0]: type_ for step, (*_, type_) in zip(steps, listed, strict=True)
    }
    assert shifted_values(steps, reads, users, types) == stored
