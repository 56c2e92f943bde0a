"""Archives that torch.export.save wrote: what they hold, and what is said of those that are not read."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# ruff: noqa: E402
from shardy_py import Mesh, P, ShardyError
from shardy_py.frontends.torch import from_exported
from shardy_py.frontends.torch.archives import archived_program

pytestmark = pytest.mark.torch


class Counted(torch.nn.Module):
    """Layers of one size, tied ones, and a buffer that is updated."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down, self.out = (torch.nn.Linear(8, 8, bias=False) for _ in range(3))
        self.out.weight = self.up.weight
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.count.add_(1)
        return self.out(self.down(self.up(x)))


def saved(exported: Any) -> bytes:
    data = BytesIO()
    torch.export.save(exported, data)
    return data.getvalue()


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_archives_hold_the_program_that_was_saved(device: str) -> None:
    """On the device `meta` torch loads all weights as one storage, which does not tie them."""
    with torch.device(device):
        exported = torch.export.export(Counted(), (torch.zeros(4, 8),), strict=True)
    given = {"down.weight": P("x")}
    expected = from_exported(exported, Mesh.of(x=2), given)
    assert str(archived_program(saved(exported), "m.pt2", Mesh.of(x=2), given)) == str(expected)


def changed(data: bytes, old: bytes, new: bytes) -> bytes:
    """An archive with another text in its files."""
    made = BytesIO()
    with ZipFile(BytesIO(data)) as archive, ZipFile(made, "w") as out:
        for name in archive.namelist():
            out.writestr(name, archive.read(name).replace(old, new))
    return made.getvalue()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            b"torch.ops.aten.tanh.default",
            b"torch.ops.mine.tanh.default",
            "got SerializeError: We failed to resolve torch.ops.mine.tanh.default to an operator; "
            "import what registers the op: --load ops.py, in Python before Program.load",
        ),
        (b'"major": 8', b'"major": 99', "export it again by the torch that is installed here"),
        (b'"graph_module"', b'"graph_modul"', "expected what torch.export saves, got "),
    ],
    ids=["op", "version", "damaged"],
)
def test_the_reason_of_torch_is_the_error(
    old: bytes, new: bytes, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    data = saved(torch.export.export(model, (torch.zeros(2, 4),)))
    with pytest.raises(ShardyError) as caught:
        archived_program(changed(data, old, new), "m.pt2")
    assert words in str(caught.value)
    assert "check the warnings" not in str(caught.value)
    assert "torch.export" not in {record.name for record in caplog.records}


def test_torch_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.export", None)
    data = BytesIO()
    ZipFile(data, "w").close()
    with pytest.raises(ShardyError, match=r"m.pt2: error: .* is read by torch, which is not installed; pip"):
        archived_program(data.getvalue(), "m.pt2", Mesh.of(x=2))
