"""The example frontend does what it says, in the lines it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from shardy_py import Mesh

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "frontend.py"


def test_the_example() -> None:
    spec = importlib.util.spec_from_file_location("frontend_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    result = module.compile_attention(Mesh.of(data=4, model=2))
    assert result["wq"].local_shape == (256, 4, 32)
    assert result["result 0"].local_shape == (8, 128, 256)
    products = result.values.of_op("dot_general")
    assert [p.local_shape for p in products[3:5]] == [(8, 4, 128, 128), (8, 4, 128, 32)]
