"""What compilers of devices make of planned collectives, on a small program for each pass.

What XLA:GPU and XLA:TPU made of programs of these kinds is in ../shared/targets, which `on_compilers.py`
compares; these hold the conditions of passes, so that nothing is compiled here.
"""

from __future__ import annotations

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.report.communication import CommunicationReport

_MESH = 'sdy.mesh @mesh = <["x"=4]>'
_PRODUCT = """
{mesh}
func.func @main(%a: tensor<64x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}},
                %b: tensor<32x{columns}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}})
    -> {types} {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<64x32xf32>, tensor<32x{columns}xf32>) -> tensor<64x{columns}xf32> loc("product")
{body}
}}
"""


def _product(body: str, types: str = "tensor<64x16xf32>", columns: int = 16, mesh: str = _MESH) -> str:
    return _PRODUCT.format(body=body, types=types, columns=columns, mesh=mesh)


_ROWS = """
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<64x16xf32>
  return %1 : tensor<64x16xf32>"""
_SLICED_AND_WHOLE = """
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<64x16xf32>
  %2 = sdy.sharding_constraint %0 <@mesh, [{}, {}]> : tensor<64x16xf32>
  return %1, %2 : tensor<64x16xf32>, tensor<64x16xf32>"""
_TWO = """
{mesh}
func.func @main({arguments}) -> tensor<64x16xf32> {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %1 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0]
      : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
{body}
}}
"""


def _two(body: str) -> str:
    rows = (
        '{sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}',
        '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}',
    )
    types = "tensor<64x32xf32>", "tensor<32x16xf32>"
    given = (f"%{name}: {types[i % 2]} {rows[i % 2]}" for i, name in enumerate("abcd"))
    return _TWO.format(mesh=_MESH, arguments=", ".join(given), body=body)


_ADDED = """
  %2 = stablehlo.add %0, %1 : tensor<64x16xf32>
  return %2 : tensor<64x16xf32>"""
_MULTIPLIED = _ADDED.replace("add", "multiply")
_ADDED_TO_ITS_OWN = """
  %2 = stablehlo.add %0, %0 : tensor<64x16xf32>
  %3 = stablehlo.multiply %2, %1 : tensor<64x16xf32>
  return %3 : tensor<64x16xf32>"""
_LOOP = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%w: tensor<3x64x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}, {{}}]>}})
    -> tensor<16xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<16xf32>
  %0:3 = stablehlo.while(%i = %zero, %sum = %none, %v = %w) : tensor<i32>, tensor<16xf32>, tensor<3x64x16xf32>
  cond {{
    %three = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %start = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.dynamic_slice %v, %i, %zero, %zero, sizes = [1, 64, 16]
        : (tensor<3x64x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x16xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x64x16xf32>) -> tensor<64x16xf32>
    %4 = stablehlo.reduce(%3 init: %start) applies stablehlo.add across dimensions = [0]
        : (tensor<64x16xf32>, tensor<f32>) -> tensor<16xf32>
    {accumulate}
    %6 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %6, %5, %v : tensor<i32>, tensor<16xf32>, tensor<3x64x16xf32>
  }}
  return %0#1 : tensor<16xf32>
}}
"""
_GATHERED = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}})
    -> tensor<64x16x{made}> {{
  %0 = sdy.sharding_constraint %a <@mesh, [{{}}, {{}}]> : tensor<64x16xf32>
  %1 = stablehlo.convert %0 : (tensor<64x16xf32>) -> tensor<64x16x{made}>
  return %1 : tensor<64x16x{made}>
}}
"""


def _result(text: str) -> Result:
    return propagate(Program.parse(text), progress=False)


def _report(text: str, target: str = "h100") -> CommunicationReport:
    return _result(text).communication(target=target)


def _sent(text: str, target: str = "h100") -> list[tuple[str, int, int]]:
    """Kind, bytes on each device before it, and runs of each collective."""
    return [(use.kind, use.held_bytes, use.times) for use in _report(text, target).sending]


_WHOLE = 64 * 16 * 4


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        pytest.param(_product(_ROWS), [("reduce_scatter", _WHOLE, 1)], id="a part is kept"),
        pytest.param(
            _product(_SLICED_AND_WHOLE, "(tensor<64x16xf32>, tensor<64x16xf32>)"),
            [("reduce_scatter", _WHOLE, 1), ("all_gather", _WHOLE // 4, 1)],
            id="a part is kept, and the whole sum",
        ),
        pytest.param(_two(_ADDED), [("all_reduce", _WHOLE, 1)], id="a sum of sums"),
        pytest.param(_two(_MULTIPLIED), [("all_reduce", 2 * _WHOLE, 1)], id="a product of sums: one op"),
        pytest.param(_two(_ADDED_TO_ITS_OWN), [("all_reduce", 2 * _WHOLE, 1)], id="one sum twice"),
        pytest.param(
            _LOOP.format(accumulate="%5 = stablehlo.add %sum, %4 : tensor<16xf32>"),
            [("all_reduce", 64, 1)],
            id="a sum carried by a loop",
        ),
        pytest.param(
            _LOOP.format(accumulate="%5 = stablehlo.maximum %sum, %4 : tensor<16xf32>"),
            [("all_reduce", 64, 3)],
            id="a maximum carried by a loop",
        ),
        pytest.param(_GATHERED.format(made="bf16"), [("all_gather", 512, 1)], id="converted afterwards"),
        pytest.param(_GATHERED.format(made="f64"), [("all_gather", 1024, 1)], id="widened afterwards"),
    ],
)
def test_a_gpu(text: str, sent: list[tuple[str, int, int]]) -> None:
    assert _sent(text) == sent


def test_without_a_target_collectives_are_as_partitioned() -> None:
    report = _result(_product(_ROWS)).communication(partitioner="xla")
    assert [use.kind for use in report.sending] == ["all_reduce"]
    assert str(report).startswith(
        "Communication of XLA's SPMD partitioner (partitioner: xla), as partitioned\n"
    )


def test_a_tpu_rounds_what_products_round() -> None:
    body = """
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [1]
      : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>"""
    text = _product(body, "tensor<64x64xf32>")
    assert _sent(text, "v5p") == [("all_reduce", _WHOLE // 2, 1)]
    exact = text.replace("dims = [1] x [1]", "dims = [1] x [1], precision = [HIGHEST, HIGHEST]")
    assert _sent(exact, "v5p") == [("all_reduce", _WHOLE, 1)]


@pytest.mark.parametrize("target", ["h100", "v5p"])
@pytest.mark.parametrize("is_between", [False, True])
def test_a_tpu_gathers_along_two_axes_at_once(target: str, is_between: bool) -> None:
    """As a reshard of a matrix that is sharded along both dimensions; not with a value in between."""
    between = '%1 = sdy.sharding_constraint %3 <@mesh, [{"x"}, {}]> : tensor<64x16xf32>'
    source = "%1" if is_between else "%3"
    text = f"""
    sdy.mesh @mesh = <["x"=4, "y"=2]>
    func.func @main(%a: tensor<64x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{"y"}}]>}})
        -> tensor<64x16xf32> {{
      %0 = stablehlo.cosine %a : tensor<64x16xf32>
      %3 = sdy.sharding_constraint %0 <@mesh, [{{"x"}}, {{"y"}}]> : tensor<64x16xf32>
      {between if is_between else ""}
      %2 = sdy.sharding_constraint {source} <@mesh, [{{}}, {{}}]> : tensor<64x16xf32>
      return %2 : tensor<64x16xf32>
    }}"""
    sent = _sent(text, target)
    shard = _WHOLE // 8
    if target == "v5p" and not is_between:
        assert sent == [("all_gather", shard, 1)]
        (use,) = _report(text, target).sending
        assert (use.axes, use.total.bytes) == ((("x", 4), ("y", 2)), _WHOLE - shard)
    else:
        assert len(sent) == 2


@pytest.mark.parametrize(
    ("target", "devices", "kind"),
    [
        ("v5e", 8, "reduce_scatter"),
        ("v5e", 16, "all_reduce"),
        ("v5p", 8, "all_reduce"),
        ("v5p", 4, "reduce_scatter"),
        ("h100", 16, "reduce_scatter"),
    ],
)
def test_a_sum_of_all_devices_of_a_torus(target: str, devices: int, kind: str) -> None:
    rows, type_ = _ROWS.replace("64x16", "64x256"), "tensor<64x256xf32>"
    text = _product(rows, type_, columns=256, mesh=f'sdy.mesh @mesh = <["x"={devices}]>')
    assert [use.kind for use in _report(text, target).sending] == [kind]


@pytest.mark.parametrize(
    ("target", "columns", "kind"),
    [("v5e", 128, "reduce_scatter"), ("v5p", 128, "all_reduce"), ("v5p", 256, "reduce_scatter")],
)
def test_parts_of_a_sum_fill_tiles(target: str, columns: int, kind: str) -> None:
    """Of 4 devices each keeps 16 rows: two tiles of 8 x 128, or four."""
    text = _product(_ROWS.replace("64x16", f"64x{columns}"), f"tensor<64x{columns}xf32>", columns=columns)
    assert [use.kind for use in _report(text, target).sending] == [kind]


@pytest.mark.parametrize(("size", "kind"), [(512, "all_gather"), (256, "all_reduce")])
def test_vectors_whose_parts_do_not_fill_lanes_are_summed(size: int, kind: str) -> None:
    text = f"""
    {_MESH}
    func.func @main(%a: tensor<{size}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}})
        -> (tensor<{size}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}]>}}) {{
      %0 = sdy.sharding_constraint %a <@mesh, [{{}}]> : tensor<{size}xf32>
      return %0 : tensor<{size}xf32>
    }}"""
    assert [use.kind for use in _report(text, "v6e").sending] == [kind]
    assert [use.kind for use in _report(text, "h100").sending] == ["all_gather"]


@pytest.mark.parametrize(("op", "bits"), [("maximum", 16), ("add", 32)])
def test_a_tpu_rounds_what_is_chosen_of_what_products_round(op: str, bits: int) -> None:
    body = f"""
  %1 = stablehlo.{op} %0, %0 : tensor<64x16xf32>
  %2 = stablehlo.dot_general %1, %1, contracting_dims = [1] x [1]
      : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>"""
    assert _sent(_product(body, "tensor<64x64xf32>"), "v5p") == [("all_reduce", 64 * 16 * bits // 8, 1)]


def test_a_host_adds_up_in_f32() -> None:
    text = _product(_ROWS).replace("xf32", "xbf16")
    assert [(use.kind, use.type.element) for use in _report(text, "cpu").sending] == [("all_reduce", "f32")]


def test_a_combined_collective_has_all_lines() -> None:
    text = _two(_MULTIPLIED).replace("tensor<64x16xf32>\n  %1", 'tensor<64x16xf32> loc("m.py":3:1)\n  %1')
    (use,) = _report(text).sending
    assert len(use.before) == 2
    assert [change.made_by for change in use.changes] == ["all-reduce-combiner"]
    lines = {total.key: total.cost.bytes for total in _report(text).by_line}
    assert len(lines) == 2
    assert lines["m.py:3"] == use.cost.bytes // 2


def test_an_op_combines_at_most_so_many_bytes() -> None:
    names = [f"%a{i}" for i in range(4)]
    given = ", ".join(
        f'{name}: tensor<4096x512xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}'
        for name in names
    )
    whole = "\n".join(
        f"  %{i} = sdy.sharding_constraint {name} <@mesh, [{{}}, {{}}]> : tensor<4096x512xf32>"
        for i, name in enumerate(names)
    )
    types = ", ".join(["tensor<4096x512xf32>"] * 4)
    text = (
        f"{_MESH}\nfunc.func @main({given}) -> ({types}) {{\n{whole}\n  return %0, %1, %2, %3 : {types}\n}}"
    )
    assert [len(use.before) for use in _report(text).sending] == [3, 1]
    assert [len(use.before) for use in _report(text, "v5e").sending] == [1, 1, 1, 1]


def test_other_compilers_are_not_known() -> None:
    report = _report(_product(_ROWS), "trn2")
    assert report.partitioned is None
    assert "as partitioned: what the compiler of trn2 changes after that is not known" in str(report)


def test_time_counts_collectives_as_compiled() -> None:
    result = _result(_LOOP.format(accumulate="%5 = stablehlo.add %sum, %4 : tensor<16xf32>"))
    before, after = result.time("h100", partitioner="xla"), result.time(target="h100")
    assert after.communication == pytest.approx(before.communication / 3)
    assert str(after).startswith("Time of a step of @main on 4 x h100, as compiled by XLA:GPU for h100\n")


_TABLE = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%y: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %i: tensor<512x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %u: tensor<512x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
  %0 = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
      index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }) : (tensor<64x16xf32>, tensor<512x1xi32>, tensor<512x16xf32>) -> tensor<64x16xf32>
  %2 = stablehlo.add %y, %0 : tensor<64x16xf32>
  return %2 : tensor<64x16xf32>
}
"""


def test_what_is_added_to_a_scatter_is_gathered() -> None:
    before = _result(_TABLE).communication(partitioner="xla")
    assert [use.kind for use in before.sending] == ["all_reduce"]
    assert sorted(_sent(_TABLE)) == [("all_gather", _WHOLE // 4, 1), ("reduce_scatter", _WHOLE, 1)]


_KEPT = """
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<64x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x", "y"}}, {{}}]>}})
    -> (tensor<32x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{kept}]>}}) {{
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0]
      : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}}
"""


@pytest.mark.parametrize(
    ("kept", "kind"),
    [
        ('{"x", "y"}, {}', "reduce_scatter"),
        ('{}, {"x", "y"}', "reduce_scatter"),
        ('{"x"}, {"y"}', "all_reduce"),
        ('{"y"}, {"x"}', "all_reduce"),
    ],
)
def test_parts_along_two_dimensions_are_sliced_from_a_sum(kept: str, kind: str) -> None:
    """As XLA compiles the gradients of weights that are sharded along both dimensions, for an H100."""
    assert [each for each, _, _ in _sent(_KEPT.format(kept=kept))] == [kind]


def test_a_report_says_what_is_not_modelled() -> None:
    remark = "remark: not modelled of XLA:TPU: loops of permutes"
    assert remark in str(_report(_two(_ADDED), "tpu-v4"))
    assert "not modelled" not in str(_report(_two(_ADDED), "tpu-v5p"))
    assert "not modelled" not in str(_report(_two(_ADDED)))


def _stacked(columns: int) -> str:
    """A loop that stacks three sums over "x" of so many elements."""
    row, part, whole = f"{columns}xf32", f"1x64x{columns}xf32", f"3x64x{columns}xf32"
    return f"""
sdy.mesh @mesh = <["x"=4]>
func.func @main(%w: tensor<{whole}> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}, {{}}]>}})
    -> tensor<3x{row}> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<3x{row}>
  %0:3 = stablehlo.while(%i = %zero, %sums = %none, %v = %w)
      : tensor<i32>, tensor<3x{row}>, tensor<{whole}>
  cond {{
    %three = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %start = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.dynamic_slice %v, %i, %zero, %zero, sizes = [1, 64, {columns}]
        : (tensor<{whole}>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<{part}>
    %3 = stablehlo.reshape %2 : (tensor<{part}>) -> tensor<64x{row}>
    %4 = stablehlo.reduce(%3 init: %start) applies stablehlo.add across dimensions = [0]
        : (tensor<64x{row}>, tensor<f32>) -> tensor<{row}>
    %5 = stablehlo.reshape %4 : (tensor<{row}>) -> tensor<1x{row}>
    %6 = stablehlo.dynamic_update_slice %sums, %5, %i, %zero
        : (tensor<3x{row}>, tensor<1x{row}>, tensor<i32>, tensor<i32>) -> tensor<3x{row}>
    %7 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %7, %6, %v : tensor<i32>, tensor<3x{row}>, tensor<{whole}>
  }}
  return %0#1 : tensor<3x{row}>
}}
"""


def test_sums_that_a_loop_stacks_are_moved_up_to_ten_kibibytes() -> None:
    """853 elements of 4 bytes are 10,236 bytes in three iterations, 854 are 10,248."""
    assert [(kind, runs) for kind, _, runs in _sent(_stacked(853))] == [("all_reduce", 1)]
    assert [(kind, runs) for kind, _, runs in _sent(_stacked(854))] == [("all_reduce", 3)]


def _rotated(starts: tuple[int, int]) -> str:
    """Two arrays, rotated along "x" so that they start with these rows."""
    rows = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
    body: list[str] = []
    for name, start in zip("ab", starts, strict=True):
        parts = (start, 16, 16 - start), (0, start, start)
        types = [f"tensor<{size}x4xf32>" for _, _, size in parts]
        for place, (first, last, _) in enumerate(parts):
            body.append(
                f"  %{name}{place} = stablehlo.slice %{name} [{first}:{last}, 0:4]"
                f" : (tensor<16x4xf32>) -> {types[place]}"
            )
        body.append(
            f"  %{name}2 = stablehlo.concatenate %{name}0, %{name}1, dim = 0"
            f" : ({', '.join(types)}) -> tensor<16x4xf32>"
        )
    lines = "\n".join(body)
    return f"""
{_MESH}
func.func @main(%a: tensor<16x4xf32> {rows}, %b: tensor<16x4xf32> {rows})
    -> (tensor<16x4xf32> {rows}, tensor<16x4xf32> {rows}) {{
{lines}
  return %a2, %b2 : tensor<16x4xf32>, tensor<16x4xf32>
}}
"""


@pytest.mark.parametrize(("starts", "members"), [((1, 1), [2]), ((1, 2), [2]), ((1, 15), [1, 1])])
def test_permutes_between_the_same_devices_are_one_op(starts: tuple[int, int], members: list[int]) -> None:
    assert [len(use.before) for use in _report(_rotated(starts)).sending] == members


_SHARED = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<64x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %w: tensor<32x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %v: tensor<32x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}})
    -> (tensor<64x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>}},
        tensor<64x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) {{
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  {scaled}
  %2 = stablehlo.dot_general {other}, %v, contracting_dims = [1] x [0]
      : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  return %0, %2 : tensor<64x16xf32>, tensor<64x16xf32>
}}
"""


def test_products_that_share_an_operand_need_what_either_needs() -> None:
    """The gather of the first result can go with the second weight only while the products are apart."""

    def gathered(other: str) -> list[set[tuple[int | None, ...]]]:
        text = _SHARED.format(other=other, scaled="%1 = stablehlo.tanh %x : tensor<64x32xf32>")
        return [{part.type.shape for part in use.before} for use in _report(text).sending]

    weight, result = (8, 16), (16, 16)
    assert gathered("%x") == [{weight}, {result}]
    assert gathered("%1") == [{weight}, {weight, result}]


_TWO_AXES = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%y: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
                %i: tensor<8x8x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>},
                %u: tensor<8x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>})
    -> (tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
  %0 = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
      index_vector_dim = 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }) : (tensor<64x16xf32>, tensor<8x8x1xi32>, tensor<8x8x16xf32>) -> tensor<64x16xf32>
  %2 = stablehlo.add %y, %0 : tensor<64x16xf32>
  return %2 : tensor<64x16xf32>
}
"""


def test_additions_are_found_behind_several_sums() -> None:
    text = _TWO_AXES.replace(
        "%y: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}",
        '%y: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}',
    )
    text = text.replace(
        "-> (tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})",
        '-> (tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})',
    )
    assert "all_gather" in [kind for kind, _, _ in _sent(text)]


@pytest.mark.parametrize("target", ["h100", "h200", "b200", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x"])
def test_all_reports_take_a_target(target: str) -> None:
    result = _result(_product(_ROWS))
    name = "XLA:TPU" if target.startswith("tpu") else "XLA:GPU"
    assert f"as compiled by {name} for {target}" in str(result.communication(target=target))
    assert f"as compiled by {name} for {target}" in str(result.time(target=target))
    assert f"as compiled for {target}" in str(result.memory(target))
    assert result.explorer(target=target).html
    assert "error" not in str(result.check(target=target))
