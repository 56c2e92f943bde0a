from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.report import LocalValue, local_shapes_data, local_shapes_text, local_values
from shardy_py.sharding import Mesh, MeshAxis

MESH = 'sdy.mesh @mesh = <["m"=2, "n"=2, "f"=2]>\n'


def values_of(text: str) -> dict[str, LocalValue]:
    """By name; where blocks beside each other use a name, the last of that name."""
    return {value.name: value for value in local_values(parse_module(MESH + text))}


def held(value: LocalValue, device: int) -> str:
    assert value.slices is not None
    return str(value.slices.of(device))


PROGRAM = """
func.func @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {"f", ?}]>},
                %arg1: tensor<?x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"n"}]>},
                %arg2: !stablehlo.token)
    -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"f":(1)2, "m"}, {}]>}, tensor<8x6xf32>) {
  %0 = stablehlo.negate %arg0
      {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"f", "n"}, {"m"}]>]>} : tensor<8x6xf32>
  %1 = stablehlo.abs %0 : tensor<8x6xf32>
  %2 = sdy.sharding_constraint %1 <mesh<["z"=2], device_ids=[1, 0]>, [{"z"}, {}]> : tensor<8x6xf32>
  return %1, %2 : tensor<8x6xf32>, tensor<8x6xf32>
}
"""


def test_values_of_a_function() -> None:
    values = values_of(PROGRAM)
    assert [*values] == ["%arg0", "%arg1", "%0", "%1", "%2", "result 0", "result 1"]
    shapes = {name: value.local_shape for name, value in values.items()}
    assert shapes == {
        "%arg0": (4, 3),
        "%arg1": (None, 2),
        "%0": (2, 3),
        "%1": (8, 6),
        "%2": (4, 6),
        "result 0": (2, 6),
        "result 1": (8, 6),
    }
    assert values["%arg1"].slices is None
    assert held(values["%0"], 6) == "[2:4, 3:6]"  # m=1, n=1, f=0
    assert held(values["result 0"], 5) == "[6:8, 0:6]"  # f=1, m=1
    assert (held(values["%2"], 0), held(values["%2"], 1)) == ("[4:8, 0:6]", "[0:4, 0:6]")
    assert values["%2"].mesh == Mesh((MeshAxis("z", 2),), (1, 0))
    assert values["%1"].sharding is None
    assert values["%1"].mesh.device_count == values["%1"].copies == 8
    assert all(value.is_global and not value.manual_axes for value in values.values())


def test_maximal_sharding_and_several_meshes() -> None:
    values = values_of("""
sdy.mesh @other = <["z"=2]>
sdy.mesh @one = <[], device_ids=[3]>
func.func @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@one, []>}) -> tensor<8x6xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
""")
    assert values["%arg0"].local_shape == (8, 6)
    assert (held(values["%arg0"], 3), held(values["%arg0"], 0)) == ("[0:8, 0:6]", "None")
    assert values["%0"].mesh == Mesh()
    assert held(values["%0"], 7) == "[0:8, 0:6]"


MANUAL = """
func.func @main(%arg0: tensor<16x6xf32>, %arg1: tensor<4x6xf32>) -> (tensor<16x6xf32>, tensor<6xf32>) {
  %0:2 = sdy.manual_computation(%arg0, %arg1)
      in_shardings=[<@mesh, [{"m", "f"}, {}]>, <@mesh, [{}, {}], replicated={"m"}>]
      out_shardings=[<@mesh, [{"m"}, {}]>, <@mesh, [{}], replicated={"m"}>]
      manual_axes={"m"} (%arg2: tensor<8x6xf32>, %arg3: tensor<4x6xf32>) {
    %1 = stablehlo.negate %arg2
        {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"f"}]>]>} : tensor<8x6xf32>
    %2 = stablehlo.abs %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"f"}, {}]>]>} : tensor<8x6xf32>
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.reduce(%arg3 init: %cst) applies stablehlo.add across dimensions = [0]
        : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
    sdy.return %2, %3 : tensor<8x6xf32>, tensor<6xf32>
  } : (tensor<16x6xf32>, tensor<4x6xf32>) -> (tensor<16x6xf32>, tensor<6xf32>)
  return %0#0, %0#1 : tensor<16x6xf32>, tensor<6xf32>
}
"""


def test_manual_computation() -> None:
    values = values_of(MANUAL)
    inside = {name: v for name, v in values.items() if v.manual_axes}
    assert {v.manual_axes for v in inside.values()} == {("m",)}
    assert {name: (v.local_shape, v.is_global, v.copies) for name, v in inside.items()} == {
        "%arg2": ((4, 6), True, 2),
        "%arg3": ((4, 6), True, 8),
        "%1": ((8, 3), False, 2),
        "%2": ((4, 6), True, 2),
        "%cst": ((), False, 4),
        "%3": ((6,), True, 8),
    }
    assert [held(values["%arg2"], device) for device in range(8)] == [  # m, n, f
        *("[0:4, 0:6]", "[4:8, 0:6]") * 2,
        *("[8:12, 0:6]", "[12:16, 0:6]") * 2,
    ]
    assert held(values["%1"], 7) == "[0:8, 3:6]"  # of the tensor there
    assert held(values["%2"], 7) == "[12:16, 0:6]"
    assert values["%2"].slices is not None
    assert values["%2"].slices.shape == (16, 6)
    assert held(values["%0#0"], 7) == "[8:16, 0:6]"


NESTED = """
func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"m"}]>] out_shardings=[<@mesh, [{"m"}]>]
      manual_axes={"m"} (%arg1: tensor<8xf32>) {
    %1 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{"n", "f"}]>] out_shardings=[<@mesh, [{"n"}]>]
        manual_axes={"n"} (%arg2: tensor<4xf32>) {
      %2 = stablehlo.negate %arg2 : tensor<4xf32>
      sdy.return %2 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    %3 = stablehlo.abs %1 : tensor<8xf32>
    %4 = sdy.manual_computation(%3) in_shardings=[<@mesh, [{"n"}]>] out_shardings=[<@mesh, [{"n"}]>]
        manual_axes={"n"} (%arg3: tensor<4xf32>) {
      %5 = stablehlo.negate %arg3 : tensor<4xf32>
      sdy.return %5 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    sdy.return %4 : tensor<8xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
"""


def test_nested_manual_computations() -> None:
    module = parse_module(MESH + NESTED)
    values = [value for value in local_values(module) if value.manual_axes]
    outer, inner = [[v for v in values if len(v.manual_axes) == n] for n in (1, 2)]
    # %arg1, %1, %3, %4: an argument and what is returned are parts of global tensors
    assert [(v.entry.op.name, v.is_global) for v in outer] == [
        ("sdy.manual_computation", True),
        ("sdy.manual_computation", False),
        ("stablehlo.abs", False),
        ("sdy.manual_computation", True),
    ]
    # %arg2 comes from %arg1; %2 goes to %1, %arg3 comes from %3: both unknown; %5 goes to %4
    assert [(v.entry.op.name, v.is_global) for v in inner] == [
        ("sdy.manual_computation", True),
        ("stablehlo.negate", False),
        ("sdy.manual_computation", False),
        ("stablehlo.negate", True),
    ]
    argument, unknown = inner[0], inner[1]
    assert [held(argument, device) for device in range(8)] == [f"[{2 * i}:{2 * i + 2}]" for i in range(8)]
    assert held(inner[3], 6) == "[12:16]"
    assert held(unknown, 6) == "[0:4]"
    assert unknown.copies == 2


def test_a_value_returned_as_parts_of_two_tensors() -> None:
    values = values_of("""
func.func @main(%arg0: tensor<16xf32>) -> (tensor<16xf32>, tensor<8xf32>) {
  %0:2 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"m"}]>]
      out_shardings=[<@mesh, [{"m"}]>, <@mesh, [{}], replicated={"m"}>]
      manual_axes={"m"} (%arg1: tensor<8xf32>) {
    %1 = stablehlo.negate %arg1 : tensor<8xf32>
    sdy.return %1, %1 : tensor<8xf32>, tensor<8xf32>
  } : (tensor<16xf32>) -> (tensor<16xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<16xf32>, tensor<8xf32>
}
""")
    assert not values["%1"].is_global
    assert values["%arg1"].is_global


def test_meshes_that_differ_inside_a_manual_computation() -> None:
    values = values_of("""
sdy.mesh @one = <[], device_ids=[3]>
func.func @main(%arg0: tensor<16xf32>, %arg1: tensor<f32>) -> (tensor<16xf32>, tensor<f32>, tensor<16xf32>) {
  %0:3 = sdy.manual_computation(%arg1, %arg0) in_shardings=[<mesh<[]>, []>, <@mesh, [{"m"}]>]
      out_shardings=[<@mesh, [{"m"}]>, <@mesh, [], replicated={"m"}>, <@mesh, [{"m"}]>]
      manual_axes={"m"} (%arg2: tensor<f32>, %arg3: tensor<8xf32>) {
    %1 = stablehlo.negate %arg3 {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : tensor<8xf32>
    %2 = stablehlo.abs %arg3 {sdy.sharding = #sdy.sharding_per_value<[<mesh<[]>, [{}]>]>} : tensor<8xf32>
    sdy.return %1, %arg2, %2 : tensor<8xf32>, tensor<f32>, tensor<8xf32>
  } : (tensor<f32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<f32>, tensor<16xf32>)
  return %0#0, %0#1, %0#2 : tensor<16xf32>, tensor<f32>, tensor<16xf32>
}
""")
    assert (values["%arg2"].is_global, values["%arg2"].copies) == (True, 8)
    assert (values["%1"].is_global, held(values["%1"], 3), held(values["%1"], 4)) == (False, "[0:8]", "None")
    assert (values["%2"].is_global, held(values["%2"], 3), held(values["%2"], 4)) == (True, "[0:8]", "[8:16]")


def test_functions_called_from_manual_computations() -> None:
    values = values_of("""
func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"m"}]>] out_shardings=[<@mesh, [{"m"}]>]
      manual_axes={"m"} (%arg1: tensor<8xf32>) {
    %1 = func.call @inner(%arg1) : (tensor<8xf32>) -> tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  %1 = func.call @outer(%0) : (tensor<16xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
func.func private @inner(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @innermost(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @innermost(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}
func.func private @outer(%arg0: tensor<16xf32>) -> tensor<16xf32> {
  return %arg0 : tensor<16xf32>
}
""")
    for name in ("@inner:%arg0", "@inner:%0", "@inner:result 0", "@innermost:%arg0"):
        assert (values[name].manual_axes, values[name].is_global) == (("m",), False), name
    for name in ("@outer:%arg0", "@outer:result 0", "%arg0"):
        assert (values[name].manual_axes, values[name].is_global) == ((), True), name


def test_bodies_of_loops_and_branches() -> None:
    module = parse_module(
        MESH
        + """
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"f"}]>}, %arg1: tensor<i1>,
                %arg2: tensor<i32>) -> tensor<8xf32> {
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<8xf32>
      attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"m"}]>]>}
    cond { stablehlo.return %arg1 : tensor<i1> }
    do {
      %1 = stablehlo.negate %iterArg
          {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"m", "n"}]>]>} : tensor<8xf32>
      stablehlo.return %1 : tensor<8xf32>
    }
  %2 = "stablehlo.case"(%arg2) ({
    %3 = stablehlo.abs %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"n"}]>]>} : tensor<8xf32>
    stablehlo.return %3 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  %4 = "stablehlo.map"(%2) <{dimensions = array<i64: 0>}> ({
  ^bb0(%element: tensor<f32>):
    %5 = stablehlo.negate %element : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}
"""
    )
    shapes = [(value.entry.op.name, value.local_shape) for value in local_values(module)]
    assert shapes == [
        ("func.func", (4,)),
        ("func.func", ()),
        ("func.func", ()),
        ("stablehlo.while", (4,)),
        ("stablehlo.while", (4,)),  # the arguments of condition and body are sharded as the result
        ("stablehlo.while", (4,)),
        ("stablehlo.negate", (2,)),
        ("stablehlo.case", (8,)),
        ("stablehlo.abs", (4,)),
        ("stablehlo.map", (8,)),  # the scalars of its region are no values of the program
        ("func.func", (8,)),
    ]


def test_tokens_and_functions_without_body() -> None:
    values = values_of("""
func.func private @declared(tensor<8xf32>) -> tensor<8xf32>
func.func @main(%arg0: !stablehlo.token, %arg1: tensor<*xf32>, %arg2: tuple<tensor<f32>>) -> tensor<8xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
""")
    assert [*values] == ["%cst", "result 0"]


def test_what_does_not_fit() -> None:
    text = """
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"f"}, {}]>}) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}
"""
    with pytest.raises(ShardyError, match=r"%arg0: sharding <@mesh, \[\{\"f\"\}, \{\}\]>: expected rank"):
        values_of(text)
    with pytest.raises(ShardyError, match="%arg0: unknown mesh '@gone': expected '@mesh'"):
        values_of(text.replace("<@mesh", "<@gone"))


def test_table() -> None:
    text = local_shapes_text(values_of(MANUAL).values(), device_id=7)
    assert [line.split("  ") for line in (re.sub(" {2,}", "  ", line) for line in text.splitlines()[:4])] == [
        ["value", "type", "sharding", "each device", "copies", "device 7"],
        ["%arg0", "16x6xf32", "-", "16x6xf32", "8", "[0:16, 0:6]"],
        ["%arg1", "4x6xf32", "-", "4x6xf32", "8", "[0:4, 0:6]"],
        ["%0#0", "16x6xf32", '<@mesh, [{"m"}, {}]>', "8x6xf32", "4", "[8:16, 0:6]"],
    ]
    assert "[0:8, 3:6]*" in text
    assert text.endswith("the program has no global tensor for it")
    assert local_shapes_text(values_of(PROGRAM).values()).splitlines()[2].split() == [
        *("%arg1", "?x4xi32", "<@mesh,", "[{},", '{"n"}]>', "?x2xi32", "?")
    ]


def test_table_of_a_device_that_holds_nothing() -> None:
    values = values_of("""
sdy.mesh @one = <[], device_ids=[3]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) -> tensor<?xf32> {
  %0 = stablehlo.custom_call @f(%arg0) : (tensor<8xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
""").values()
    assert [line.split()[-1] for line in local_shapes_text(values, 1).splitlines()] == [
        "1",
        "nothing",
        "?",
        "?",
    ]


def test_data() -> None:
    data = local_shapes_data(values_of(MANUAL).values())
    assert json.loads(json.dumps(data)) == data
    by_name = {row["value"]: row for row in data}
    assert by_name["%2"] == {
        "value": "%2",
        "label": "",
        "type": "8x6xf32",
        "sharding": '<@mesh, [{"f"}, {}]>',
        "local_shape": [4, 6],
        "global_shape": [16, 6],
        "parts": [4, 1],
        "copies": 2,
        "manual_axes": ["m"],
    }
    assert by_name["%1"]["global_shape"] is None


def test_manual_computation_on_two_meshes() -> None:
    """Valid without manual axes."""
    values = values_of("""
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<mesh<["x"=4]>, [{"x"}]>]
      out_shardings=[<mesh<["w"=2]>, [{}], replicated={"w"}>] manual_axes={} (%arg1: tensor<8xf32>) {
    %1 = stablehlo.negate %arg1 : tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
""")
    assert {name: value.local_shape for name, value in values.items() if name in ("%0", "%arg1")} == {
        "%0": (8,),
        "%arg1": (2,),
    }


def test_every_value_of_the_corpus(corpus_program: str, corpus: Callable[[str], str]) -> None:
    values = local_values(parse_module(corpus(f"{corpus_program}.propagated")))
    assert values
    for value in values:
        assert value.slices is not None
        assert value.slices.local_shape == value.local_shape
        last = value.slices.of(value.mesh.device_count - 1)
        assert last is not None
        assert all(size <= most for size, most in zip(last.size, value.local_shape, strict=True))
