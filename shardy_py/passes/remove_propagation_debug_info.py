"""`sdy-remove-propagation-debug-info`: removes the debug information of propagation.

before  stablehlo.add %a, %b {sdy.sharding_origins = {x = "input: 0"}}
after   stablehlo.add %a, %b
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.passes.debug_notes import NOTES
from shardy_py.passes.drop_sharding_and_mesh import remove_attributes


def remove_propagation_debug_info(module: ModuleOp) -> None:
    """Removes the recorded propagation edges and origins."""
    remove_attributes(module, NOTES)
