"""Exact proofs: local programs that are wrong where floats, their inputs or their padding do not show it."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.run.proof import Answer, ProofOptions, prove
from tests.run.proof.by_hand import partitioned_by_hand

MESH = 'sdy.mesh @mesh = <["x"=4]>'
ROWS = '[{"x"}, {}]'
PART = '[{"x"}]'
GROUPS = (
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
    "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids"
)


def proven(whole: str, local: str, pairs: dict[str, tuple[str, str]], *, floats: bool = False) -> Answer:
    return prove(partitioned_by_hand(f"{MESH}\n{whole}", local, pairs), ProofOptions(floats=floats))


def all_reduced(value: str, kind: str, type_: str) -> str:
    return f""""stablehlo.all_reduce"({value}) <{{{GROUPS}}}> ({{
  ^bb0(%a: tensor<{type_}>, %b: tensor<{type_}>):
    %z = stablehlo.{kind} %a, %b : tensor<{type_}>
    stablehlo.return %z : tensor<{type_}>
  }}) : (tensor<{type_}>) -> tensor<{type_}>"""


def reduced(kind: str, type_: str, size: int, initial: str) -> str:
    return f"""
  %0 = stablehlo.constant dense<{initial}> : tensor<{type_}>
  %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.{kind} across dimensions = [0] :
      (tensor<{size}x{type_}>, tensor<{type_}>) -> tensor<{type_}>"""


@pytest.mark.parametrize(
    ("type_", "zero", "lowest"), [("f32", "0.0", "0xFF800000"), ("i32", "0", "-2147483648")]
)
def test_a_maximum_needs_its_mask(type_: str, zero: str, lowest: str) -> None:
    """The zeros that pad 13 rows made inside to 16 are above the maximum in one of the orders."""
    body = reduced("maximum", type_, 13, lowest).replace("%arg0", "%5")
    whole = f"""func.func @main(%arg0: tensor<13x{type_}>) -> tensor<{type_}> {{
  %5 = stablehlo.add %arg0, %arg0 : tensor<13x{type_}>{body}
  return %1 : tensor<{type_}>
}}"""
    local = f"""func.func @main(%arg0: tensor<13x{type_}>) -> tensor<{type_}> {{
  %f = stablehlo.constant dense<{zero}> : tensor<{type_}>
  %p = stablehlo.pad %arg0, %f, low = [0], high = [3], interior = [0] :
      (tensor<13x{type_}>, tensor<{type_}>) -> tensor<16x{type_}>
  %q = stablehlo.add %p, %p : tensor<16x{type_}>{reduced("maximum", type_, 16, lowest).replace("%arg0", "%q")}
  return %1 : tensor<{type_}>
}}"""
    assert not proven(whole, local, {"%arg0": ("%arg0", "[{}]")}).is_equal
    masked = local.replace("high = [3]", "high = [0]").replace("16x", "13x")
    assert proven(whole, masked, {"%arg0": ("%arg0", "[{}]")}).is_equal


@pytest.mark.parametrize("kind", ["maximum", "minimum", "add"])
def test_all_devices_hold_the_result(kind: str) -> None:
    initial = {"maximum": "0xFF800000", "minimum": "0x7F800000", "add": "0.0"}[kind]
    whole = f"""func.func @main(%arg0: tensor<8xf32>) -> tensor<f32> {{{reduced(kind, "f32", 8, initial)}
  return %1 : tensor<f32>
}}"""
    local = f"""func.func @main(%arg0: tensor<2xf32>) -> tensor<f32> {{{reduced(kind, "f32", 2, initial)}
  %2 = {all_reduced("%1", kind, "f32")}
  return %2 : tensor<f32>
}}"""
    pairs = {"%arg0": ("%arg0", PART)}
    assert proven(whole, local, pairs).is_equal
    dropped = local.replace("return %2", "return %1")
    assert not proven(whole, dropped, pairs).is_equal


def test_a_replica_that_differs_is_found() -> None:
    whole = """func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}"""
    local = """func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<8xf32>
  %1 = stablehlo.partition_id : tensor<ui32>
  %2 = stablehlo.constant dense<3> : tensor<ui32>
  %3 = stablehlo.compare EQ, %1, %2 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %4 = stablehlo.constant dense<1.0> : tensor<8xf32>
  %5 = stablehlo.add %0, %4 : tensor<8xf32>
  %6 = stablehlo.select %3, %5, %0 : tensor<i1>, tensor<8xf32>
  return %6 : tensor<8xf32>
}"""
    fault = proven(whole, local, {"%arg0": ("%arg0", "[{}]")}).fault
    assert fault is not None
    assert fault.device == 3


def test_indices_cover_the_range_that_they_index() -> None:
    """A wrong offset shows in rows that only integers above 9 reach."""
    whole = """func.func @main(%arg0: tensor<512xf32>, %arg1: tensor<i32>) -> tensor<1xf32> {
  %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<512xf32>, tensor<i32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}"""
    local = """func.func @main(%arg0: tensor<512xf32>, %arg1: tensor<i32>) -> tensor<1xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %d = stablehlo.constant dense<400> : tensor<i32>
  %e = stablehlo.clamp %c, %arg1, %d : tensor<i32>
  %0 = stablehlo.dynamic_slice %arg0, %e, sizes = [1] : (tensor<512xf32>, tensor<i32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}"""
    pairs = {"%arg0": ("%arg0", "[{}]")}
    assert proven(whole, local, pairs, floats=True).is_equal
    assert not proven(whole, local, pairs).is_equal


ROUNDED = """func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<8xf32>
  %1 = stablehlo.convert %0 : (tensor<8xf32>) -> tensor<8xbf16>
  %2 = stablehlo.convert %1 : (tensor<8xbf16>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}"""


def test_roundings_are_operations() -> None:
    plain = """func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}"""
    pairs = {"%arg0": ("%arg0", "[{}]")}
    assert proven(plain, ROUNDED, pairs, floats=True).is_equal
    assert not proven(plain, ROUNDED, pairs).is_equal


def test_rounding_twice_is_rounding_once() -> None:
    twice = ROUNDED.replace(
        "  return %2",
        """  %3 = stablehlo.convert %2 : (tensor<8xf32>) -> tensor<8xbf16>
  %4 = stablehlo.convert %3 : (tensor<8xbf16>) -> tensor<8xf32>
  return %4""",
    )
    reduced = ROUNDED.replace(
        "%1 = stablehlo.convert %0 : (tensor<8xf32>) -> tensor<8xbf16>",
        "%2 = stablehlo.reduce_precision %0, format = e8m7 : tensor<8xf32>",
    ).replace("  %2 = stablehlo.convert %1 : (tensor<8xbf16>) -> tensor<8xf32>\n", "")
    for local in (twice, reduced):
        answer = proven(ROUNDED, local, {"%arg0": ("%arg0", "[{}]")})
        assert answer.is_equal, answer


def test_counting_in_a_narrow_type_is_found() -> None:
    whole = """func.func @main() -> tensor<518xbf16> {
  %0 = stablehlo.iota dim = 0 : tensor<518xbf16>
  return %0 : tensor<518xbf16>
}"""
    local = """func.func @main() -> tensor<518xbf16> {
  %0 = stablehlo.iota dim = 0 : tensor<259xbf16>
  %1 = stablehlo.constant dense<259.0> : tensor<259xbf16>
  %2 = stablehlo.add %0, %1 : tensor<259xbf16>
  %3 = stablehlo.concatenate %0, %2, dim = 0 : (tensor<259xbf16>, tensor<259xbf16>) -> tensor<518xbf16>
  return %3 : tensor<518xbf16>
}"""
    assert not proven(whole, local, {}).is_equal


def test_cancellation_is_no_difference() -> None:
    """x + y - x is y in any order of the sum; floats differ by the roundings of x."""
    whole = """func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.constant dense<1.0e30> : tensor<8xf32>
  %1 = stablehlo.multiply %arg0, %0 : tensor<8xf32>
  %2 = stablehlo.add %1, %arg1 : tensor<8xf32>
  %3 = stablehlo.subtract %2, %1 : tensor<8xf32>
  return %3 : tensor<8xf32>
}"""
    local = """func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
  return %arg1 : tensor<8xf32>
}"""
    pairs = {"%arg0": ("%arg0", "[{}]")}
    assert proven(whole, local, pairs).is_equal


SELECTED = """func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.compare GE, %arg0, %arg1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %1 = stablehlo.constant dense<6.0> : tensor<8xf32>
  %2 = stablehlo.compare LT, %arg0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %3 = stablehlo.and %0, %2 : tensor<8xi1>
  %4 = stablehlo.negate %arg1 : tensor<8xf32>
  %5 = stablehlo.select %3, %arg0, %4 : tensor<8xi1>, tensor<8xf32>
  return %5 : tensor<8xf32>
}"""


@pytest.mark.parametrize("change", [("GE", "GT"), ("LT", "LE")])
def test_equal_elements_meet(change: tuple[str, str]) -> None:
    """Of two inputs, and of an input and a constant."""
    pairs = {name: (name, "[{}]") for name in ("%arg0", "%arg1")}
    answer = proven(SELECTED, SELECTED, pairs)
    assert answer.is_equal
    assert "3 orders, 12 with equal inputs" in str(answer)
    assert "24 runs" in str(answer)
    assert not proven(SELECTED, SELECTED.replace(*change), pairs).is_equal


@pytest.mark.parametrize(("type_", "lowest"), [("f8E4M3FN", "-448.0"), ("f4E2M1FN", "-6.0")])
def test_a_maximum_begins_with_the_least_number_of_a_type_without_infinity(type_: str, lowest: str) -> None:
    whole = f"""func.func @main(%arg0: tensor<8x{type_}>) -> tensor<{type_}> {{
{reduced("maximum", type_, 8, lowest)}
  return %1 : tensor<{type_}>
}}"""
    local = f"""func.func @main(%arg0: tensor<2x{type_}>) -> tensor<{type_}> {{
{reduced("maximum", type_, 2, lowest)}
  %2 = {all_reduced("%1", "maximum", type_)}
  return %2 : tensor<{type_}>
}}"""
    pairs = {"%arg0": ("%arg0", PART)}
    answer = proven(whole, local, pairs)
    assert answer.is_equal, answer
    assert answer.exactness is not None
    assert not proven(whole, local.replace(lowest, "1.0"), pairs).is_equal


@pytest.mark.parametrize(("initial", "is_equal"), [("-2.0", True), ("0xFF800000", True), ("1.0", False)])
def test_no_magnitude_is_below_zero(initial: str, is_equal: bool) -> None:
    text = (
        """func.func @main(%arg0: tensor<8xf32>) -> tensor<f32> {
  %2 = stablehlo.abs %arg0 : tensor<8xf32>
"""
        + reduced("maximum", "f32", 8, "0.0").replace("%arg0", "%2")
        + """
  return %1 : tensor<f32>
}"""
    )
    pairs = {"%arg0": ("%arg0", "[{}]")}
    assert proven(text, text.replace("dense<0.0>", f"dense<{initial}>"), pairs).is_equal == is_equal


SOFTMAX = """func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.exponential %arg0 : tensor<4x8xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1] :
      (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.divide %0, %2 : tensor<4x8xf32>
  %4 = stablehlo.dot %3, %arg1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}"""


def test_quotients_have_a_degree() -> None:
    """exp and the inverse are of degree 1, their product and one with an input of 3."""
    pairs = {name: (name, "[{}, {}]") for name in ("%arg0", "%arg1")}
    answer = proven(SOFTMAX, SOFTMAX, pairs)
    assert answer.exactness is not None
    assert answer.exactness.degree == 2 * 3
    assert "in all of them: below 1e-09, up to" in str(answer)


def test_laws_of_quotients_hold() -> None:
    """(x / y) / z = x / (y * z): a run with inverses as functions says no, one of the field says yes."""
    whole = """func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.divide %arg0, %arg1 : tensor<8xf32>
  %1 = stablehlo.divide %0, %arg1 : tensor<8xf32>
  return %1 : tensor<8xf32>
}"""
    local = """func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.multiply %arg1, %arg1 : tensor<8xf32>
  %1 = stablehlo.divide %arg0, %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}"""
    pairs = {name: (name, "[{}]") for name in ("%arg0", "%arg1")}
    answer = proven(whole, local, pairs)
    assert answer.is_equal
    assert "no bound" in str(answer)
    assert not proven(whole, local.replace("multiply", "add"), pairs).is_equal


ITERATED = """func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>) -> tensor<8xf32> {
  %0:2 = stablehlo.while(%x = %arg0, %e = %arg1) : tensor<8xf32>, tensor<f32>
  cond {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %c = stablehlo.compare GT, %e, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %n = stablehlo.not %c : tensor<i1>
    %o = stablehlo.or %c, %n : tensor<i1>
    stablehlo.return %o : tensor<i1>
  } do {
    %y = stablehlo.tanh %x : tensor<8xf32>
    %f = stablehlo.tanh %e : tensor<f32>
    stablehlo.return %y, %f : tensor<8xf32>, tensor<f32>
  }
  return %0#0 : tensor<8xf32>
}"""


def test_loops_that_floats_decide_end() -> None:
    pairs = {"%arg0": ("%arg0", "[{}]"), "%arg1": ("%arg1", "[]")}
    answer = proven(ITERATED, ITERATED, pairs)
    assert answer.is_equal
    assert "loops that go on as floats decide: ended after at most 7 iterations" in str(answer)
    assert not proven(ITERATED, ITERATED.replace("tanh %x", "logistic %x"), pairs).is_equal


def test_conditions_that_came_out_one_way_are_said() -> None:
    text = """func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi32>) -> tensor<8xf32> {
  %0 = stablehlo.compare EQ, %arg1, %arg1 : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
  %1 = stablehlo.negate %arg0 : tensor<8xf32>
  %2 = stablehlo.select %0, %arg0, %1 : tensor<8xi1>, tensor<8xf32>
  %3 = stablehlo.compare LT, %arg0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %4 = stablehlo.select %3, %arg0, %2 : tensor<8xi1>, tensor<8xf32>
  return %4 : tensor<8xf32>
}"""
    answer = proven(text, text, {"%arg0": ("%arg0", "[{}]"), "%arg1": ("%arg1", "[{}]")})
    assert "covered: 1 of 2 conditions came out both ways: always %0 = stablehlo.compare (line 3)" in str(
        answer
    )


def test_the_answer_says_what_was_shown() -> None:
    answer = proven(ROUNDED, ROUNDED, {"%arg0": ("%arg0", "[{}]")})
    text = str(answer)
    assert "element for element" in text
    assert "field of a random prime of 31 bits, functions uninterpreted; 3 runs: 3 orders" in text
    assert "error: below" in text
    data = answer.to_json()
    assert (data["arithmetic"], data["is_equal"]) == ("exact", True)
    assert data["error"] < 1e-6


HIDDEN = """func.func @main(%arg0: tensor<8xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.tanh %arg0 : tensor<8xf32>{wrong}
  %1 = stablehlo.slice {read} [0:4] : (tensor<8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}}"""
REPEATED = """
  %a = stablehlo.slice %0 [0:{first}] : (tensor<8xf32>) -> tensor<{first}xf32>
  %b = stablehlo.slice %0 [0:{rest}] : (tensor<8xf32>) -> tensor<{rest}xf32>
  %c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<{first}xf32>, tensor<{rest}xf32>) -> tensor<8xf32>"""


@pytest.mark.parametrize(("first", "is_hidden"), [(4, True), (3, False)])
def test_the_answer_says_if_no_result_shows_a_wrong_value(first: int, is_hidden: bool) -> None:
    """Elements from `first` on are wrong, of which results have those below 4."""
    whole = HIDDEN.format(wrong="", read="%0")
    local = HIDDEN.format(wrong=REPEATED.format(first=first, rest=8 - first), read="%c")
    answer = proven(whole, local, {"%arg0": ("%arg0", "[{}]"), "%3": ("%0", "[{}]")})
    assert not answer.is_equal
    assert ("no result differs in" in str(answer)) == is_hidden


def test_an_op_with_more_dimensions_than_arrays_have_is_not_proven() -> None:
    type_ = f"tensor<{'1x' * 69}8xf32>"
    sharded = ", ".join(["{}"] * 69 + ['{"x"}'])
    reduced_ = ", ".join(map(str, range(69)))
    program = Program.parse(f"""
    {MESH}
    func.func @main(%a: {type_} {{sdy.sharding = #sdy.sharding<@mesh, [{sharded}]>}}) -> tensor<8xf32> {{
      %c = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [{reduced_}]
          : ({type_}, tensor<f32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }}""")
    answer = propagate(program, progress=False).partition().prove(shapes="ops")
    assert "not proven: stablehlo.reduce: has 70 dimensions in one tensor, more than 48" in str(answer)
