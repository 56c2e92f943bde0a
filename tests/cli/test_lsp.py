"""`shardy-lsp` without what it speaks the protocol with."""

from __future__ import annotations

import sys

import pytest

from shardy_py.cli.lsp import main


def test_a_missing_package_is_an_error_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("pygls", "lsprotocol") or name == "shardy_py.lsp.server":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert main(["--stdio"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("shardy-lsp: lsprotocol, which speaks the protocol, is not installed; pip install")
