"""Which ops XLA:TPU computes where they are read, by rule: no compiler runs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shardy_py import Program, propagate
from shardy_py.xla.buffers import fusion

_ROWS, _WHOLE = "tensor<1024xf32>", "tensor<1024x4096xf32>"


def _stored(
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    products: list[str] | None = None,
    shapes: dict[str, list[int]] | None = None,
) -> dict[str, list[str]]:
    """The ops whose results XLA stores, and the elements of the stored tensors that each reads.

    products: gets the products of them; shapes: the numbers of dimensions of what each reads.
    """
    found: dict[str, list[str]] = {}
    groups = fusion.Fusion.groups

    def listed(self: fusion.Fusion, *, saves_reads: bool = False) -> Mapping[int, fusion.FusedStep]:
        made = groups(self, saves_reads=saves_reads)
        for group in made.values():
            types = (self.types.get(name) for name in group.needs)
            known = [type_ for type_ in types if type_ is not None and type_.shape]
            read = [type_.element for type_ in known]
            last = group.members[-1].record.name.removeprefix("stablehlo.")
            if shapes is not None:
                shapes[last] = sorted(type_.rank for type_ in known)
            if products is not None and last == "dot_general":
                products.append(last)
            found[last] = read
        return made

    monkeypatch.setattr(fusion.Fusion, "groups", listed)
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    assert result.memory("tpu-v5p").estimate.temporaries >= 0
    return found


def _normalized(last: str) -> str:
    """What each row is divided by, and `last` of it, broadcast along the row."""
    return f"""
    func.func @main(%x: {_WHOLE}) -> {_WHOLE} {{
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
        : ({_WHOLE}, tensor<f32>) -> {_ROWS}
      %1 = stablehlo.rsqrt %0 : {_ROWS}
      {last}
      %3 = stablehlo.broadcast_in_dim %2, dims = [0] : ({_ROWS}) -> {_WHOLE}
      %4 = stablehlo.multiply %x, %3 : {_WHOLE}
      return %4 : {_WHOLE}
    }}"""


@pytest.mark.parametrize("last", ["stablehlo.negate %1", "stablehlo.add %1, %1"])
def test_what_is_expensive_is_not_computed_for_each_element_of_a_row(
    last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it if a cheap op is between it and the broadcast."""
    stored = _stored(_normalized(f"%2 = {last} : {_ROWS}"), monkeypatch)
    assert {*stored} == {"sdy.constant", "reduce", "rsqrt", "multiply"}


_WIDE = "tensor<1024x1024xbf16>"
_PRODUCT = f"dot_general %x, %x, contracting_dims = [1] x [0] : ({_WIDE}, {_WIDE}) -> {_WIDE}"


@pytest.mark.parametrize(
    ("op", "source", "element"),
    [(_PRODUCT, "%0", "f32"), (f"add %x, %y : {_WIDE}", "%0", "f32"), (_PRODUCT, "%y", "bf16")],
    ids=["product", "fused", "stored"],
)
def test_what_is_converted_for_a_look_up_is_converted_again(
    op: str, source: str, element: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not what is made with a product, nor of fused values: a residual stream would keep all its parts."""
    whole = "tensor<1024x1024xf32>"
    text = f"""
    func.func @main(%x: {_WIDE}, %y: {_WIDE}, %i: tensor<8x1xi32>) -> ({whole}, tensor<8x1024xf32>) {{
      %0 = stablehlo.{op}
      %1 = stablehlo.convert {source} : ({_WIDE}) -> {whole}
      %2 = "stablehlo.gather"(%1, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
        collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
        slice_sizes = array<i64: 1, 1024>}}> : ({whole}, tensor<8x1xi32>) -> tensor<8x1024xf32>
      %3 = stablehlo.negate %1 : {whole}
      return %3, %2 : {whole}, tensor<8x1024xf32>
    }}"""
    stored = _stored(text, monkeypatch)
    assert stored["gather"] == ["f32", "i32"]
    assert stored["negate"] == [element]


@pytest.mark.parametrize(
    ("given", "op", "stored"),
    [
        # As XLA:TPU (v5p) stores what two products read.
        ("f32", "add %x, %y", True),
        ("bf16", "add %x, %y", False),
        ("f32", "negate %x", False),
    ],
)
def test_what_several_products_compute_is_stored_if_that_moves_fewer_bytes(
    given: str, op: str, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, narrow, made = f"tensor<1024x1024x{given}>", "tensor<1024x1024xbf16>", "tensor<1024x128xbf16>"
    convert = "convert" if given == "f32" else "negate"
    product = f"contracting_dims = [1] x [0] : ({narrow}, {made}) -> {made}"
    text = f"""
    func.func @main(%x: {whole}, %y: {whole}, %v: {made}, %w: {made})
        -> ({made}, {made}) {{
      %0 = stablehlo.{op} : {whole}
      %1 = stablehlo.{convert} %0 : ({whole}) -> {narrow}
      %2 = stablehlo.dot_general %1, %v, {product}
      %3 = stablehlo.dot_general %1, %w, {product}
      return %2, %3 : {made}, {made}
    }}"""
    found = _stored(text, monkeypatch)
    assert ({*found} - {"sdy.constant"} != {"dot_general"}) is stored


def test_what_alone_reads_a_product_is_stored_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Biases are added with the product; what is computed of the sum is computed where it is read."""
    square = "tensor<1024x1024xf32>"
    product = f"contracting_dims = [1] x [0] : ({square}, {square}) -> {square}"
    text = f"""
    func.func @main(%x: {square}, %y: {square}) -> ({square}, {square}) {{
      %0 = stablehlo.dot_general %x, %y, {product}
      %1 = stablehlo.add %0, %x : {square}
      %2 = stablehlo.negate %1 : {square}
      %3 = stablehlo.dot_general %2, %y, {product}
      %4 = stablehlo.subtract %y, %1 : {square}
      return %3, %4 : {square}, {square}
    }}"""
    assert {*_stored(text, monkeypatch)} == {"add", "dot_general", "subtract"}


@pytest.mark.parametrize(("batch", "stored"), [(0, 2), (1, 3)])
def test_products_that_others_read_in_other_batches_take_in_none(
    batch: int, stored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Experts: the second layer takes in the first, unless what combines them has them in other batches."""
    given, hidden = "tensor<8x8x64x64xbf16>", "tensor<8x8x64x256xbf16>"
    numbers = f"batching_dims = [{batch}] x [0], contracting_dims = [{1 - batch}, 2] x [1, 2]"
    text = f"""
    func.func @main(%x: {given}, %a: tensor<8x64x256xbf16>, %b: tensor<8x256x64xbf16>,
        %c: tensor<8x8x64x32xbf16>) -> tensor<8x8x64x32xbf16> {{
      %0 = stablehlo.dot_general %x, %a, batching_dims = [0] x [0], contracting_dims = [3] x [1]
        : ({given}, tensor<8x64x256xbf16>) -> {hidden}
      %1 = stablehlo.dot_general %0, %b, batching_dims = [0] x [0], contracting_dims = [3] x [1]
        : ({hidden}, tensor<8x256x64xbf16>) -> {given}
      %2 = stablehlo.dot_general %1, %c, {numbers}
        : ({given}, tensor<8x8x64x32xbf16>) -> tensor<8x64x32xbf16>
      %3 = stablehlo.broadcast_in_dim %2, dims = [0, 2, 3]
        : (tensor<8x64x32xbf16>) -> tensor<8x8x64x32xbf16>
      return %3 : tensor<8x8x64x32xbf16>
    }}"""
    products: list[str] = []
    _stored(text, monkeypatch, products)
    assert len(products) == stored


@pytest.mark.parametrize(
    ("summands", "products", "is_stored"),
    [(2, 2, False), (2, 3, False), (2, 4, True), (3, 2, False), (3, 3, True), (4, 1, False), (4, 2, True)],
)
def test_sums_are_stored_where_that_moves_less(
    summands: int, products: int, is_stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As XLA:TPU (v5p) does for sums that so many products read."""
    square = "tensor<1024x1024xf32>"
    given = ", ".join(f"%x{i}: {square}" for i in range(summands))
    sums = [f"%s1 = stablehlo.add %x0, %x1 : {square}"]
    sums += [f"%s{i} = stablehlo.add %s{i - 1}, %x{i} : {square}" for i in range(2, summands)]
    read: list[str] = []
    for i in range(products):
        read += [
            f"%c{i} = stablehlo.constant dense<{i + 2}.0> : {square}",
            f"%m{i} = stablehlo.multiply %s{summands - 1}, %c{i} : {square}",
            f"%p{i} = stablehlo.dot_general %m{i}, %w, contracting_dims = [1] x [0]"
            f" : ({square}, {square}) -> {square}",
        ]
    made = ", ".join(f"%p{i}" for i in range(products)), ", ".join([square] * products)
    lines = "\n".join((*sums, *read, f"return {made[0]} : {made[1]}"))
    text = f"func.func @main({given}, %w: {square}) -> ({made[1]}) {{\n{lines}\n}}"
    assert ("add" in _stored(text, monkeypatch)) is is_stored


def test_what_is_repeated_is_computed_again_though_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broadcast is stored for what is sent only: others read what it repeats."""
    whole, rows = "tensor<1024x1024xf32>", '{sdy.sharding = #sdy.sharding<@line, [{"x"}, {}]>}'
    columns = '{sdy.sharding = #sdy.sharding<@line, [{}, {"x"}]>}'
    text = f"""
    sdy.mesh @line = <["x"=8]>
    func.func @main(%x: tensor<1024xf32> {{sdy.sharding = #sdy.sharding<@line, [{{"x"}}]>}},
        %y: {whole} {rows}, %w: {whole} {columns}) -> ({whole}, {whole}) {{
      %0 = stablehlo.broadcast_in_dim %x, dims = [0]
        {{sdy.sharding = #sdy.sharding_per_value<[<@line, [{{"x"}}, {{}}]>]>}} : (tensor<1024xf32>) -> {whole}
      %1 = sdy.all_to_all [{{"x"}}: 0->1] %0 out_sharding=<@line, [{{}}, {{"x"}}]> : {whole}
      %2 = stablehlo.add %1, %w : {whole}
      %3 = stablehlo.multiply %0, %y : {whole}
      return %2, %3 : {whole}, {whole}
    }}"""
    shapes: dict[str, list[int]] = {}
    assert "broadcast_in_dim" in _stored(text, monkeypatch, shapes=shapes)
    assert shapes["multiply"] == [1, 2]


@pytest.mark.parametrize("interior", [0, 1])
def test_products_pad_what_they_read(interior: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two products pads it, as XLA:TPU (v5p) does; elements between others are stored."""
    rows = 1024 + 1023 * interior
    wide, square, result = f"tensor<{rows + 1}x1024xf32>", "tensor<1024x1024xf32>", "tensor<1024x1024xf32>"
    text = f"""
    func.func @main(%x: {square}, %v: {wide}, %w: {square}) -> ({wide}, {result}) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.exponential %x : {square}
      %1 = stablehlo.pad %0, %zero, low = [0, 0], high = [1, 0], interior = [{interior}, 0]
        : ({square}, tensor<f32>) -> {wide}
      %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : ({wide}, {square}) -> {wide}
      %3 = stablehlo.dot_general %v, %1, contracting_dims = [0] x [0] : ({wide}, {wide}) -> {result}
      return %2, %3 : {wide}, {result}
    }}"""
    assert ("pad" in _stored(text, monkeypatch)) is bool(interior)
