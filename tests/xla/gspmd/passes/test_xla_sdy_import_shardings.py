"""Invalid options of `xla-sdy-import-shardings`, and dumps without a common mesh."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from shardy_py import Program
from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes

DUMP = """
func.func @main(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,2]<=[8]}"},
                %arg1: tensor<8xf32> {mhlo.sharding = "{replicated}"}) {
  return
}
"""


def import_shardings(module: ModuleOp, **options: Any) -> None:
    run_passes(module, (pass_call("xla-sdy-import-shardings", **options),), verify="never")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mesh_axes": ("x",)}, "mesh-axes: expected an axis and its size, x=4, got 'x'"),
        ({"mesh_axes": ("x=0",)}, "mesh-axes: expected .*, got 'x=0'"),
        ({"mesh_axes": ("x=4", "x=2")}, "mesh-axes: expected different axes, got 'x' twice"),
        ({"mesh_axes": ("x=4",)}, "arg 0 - .*: expected 4 devices of the mesh .*, got 8"),
        (
            {"allow_propagation_to_args": ("maybe",)},
            "arg 0 - allow-propagation: expected true or false, got 'maybe'",
        ),
    ],
)
def test_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        import_shardings(parse_module(DUMP), **options)


def test_a_word_for_results_means_no_arguments() -> None:
    texts: list[str] = []
    for values in ("results", "args"):
        module = parse_module(DUMP)
        import_shardings(module, **{f"allow_propagation_to_{values}": ("true",)})
        texts.append(print_module(module))
    assert ['[{"_axis_0"}, {"_axis_1"}]' in text for text in texts] == [True, False]
    assert ['[{"_axis_0", ?}, {"_axis_1", ?}]' in text for text in texts] == [False, True]


def test_more_arguments_than_words() -> None:
    module = parse_module(DUMP.replace("%arg1", "%arg2: tensor<f32>, %arg1"))
    with pytest.raises(
        ShardyError, match="arg 2 - allow-propagation: expected one word, or one for each value, got 2"
    ):
        import_shardings(module, allow_propagation_to_args=("true", "false"))


def test_dumps_for_several_numbers_of_devices() -> None:
    module = parse_module(DUMP.replace("{replicated}", "{devices=[4]<=[4]}"))
    with pytest.raises(ShardyError, match=r"expected 8 devices, as of .*, got 4"):
        import_shardings(module)


def test_a_sharding_call_without_operands_is_refused() -> None:
    text = """func.func @main() -> tensor<8xf32> {
  %0 = stablehlo.custom_call @Sharding() {mhlo.sharding = "{unknown shard_as 4}"} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"""
    with pytest.raises(ShardyError, match="expected as many operands as results, got 0 operands, 1 results"):
        Program.parse(text, imported=False).run("xla-sdy-import-shardings")
