"""`sdy-remove-sub-axes-in-input-output-shardings`: truncates shardings of main at sub-axes.

Open dimensions are cut before their first sub-axis; closed ones were fixed by the user and stay.

    before  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x":(1)2, ?}]>})
    after   func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", ?}]>})
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.graph.symbols import Symbols
from shardy_py.partition.boundary import without_sub_axes
from shardy_py.passes.update_non_divisible_input_output_shardings import transform_function


def remove_sub_axes_in_input_output_shardings(module: ModuleOp) -> None:
    """Truncates the shardings of arguments and results of main before their first sub-axis."""
    transform_function(
        Symbols(module).main(),
        lambda sharding, _: without_sub_axes(sharding),
        "sdy-remove-sub-axes-in-input-output-shardings",
    )
