"""The adaptor where PyTorch is not installed, or not needed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from shardy_py import Mesh, P, Sharding, ShardyError
from shardy_py.frontends.torch import from_exported, from_placements, to_placements
from shardy_py.frontends.torch import placements as torch_placements

MESH = Mesh.of(x=2)


@pytest.mark.parametrize(
    "function",
    [
        lambda: from_exported(None),
        lambda: from_placements(MESH, ["Shard(0)"], (4,)),
        lambda: to_placements(Sharding(MESH, P())),
    ],
)
def test_the_error_names_the_extra_to_install(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(torch_placements, "import_module", missing)
    with pytest.raises(ShardyError, match=r"PyTorch is not installed; `pip install 'shardy_py\[torch\]'`"):
        function()


def test_the_adaptor_is_imported_without_torch() -> None:
    code = "import sys, shardy_py.frontends.torch; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
