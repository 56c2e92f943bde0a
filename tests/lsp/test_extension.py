"""The extension of Visual Studio Code: its manifest names files that exist, and it starts the server."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from shardy_py.cli.lsp import _parse

FAKE = """
const Module = require("module");
const asked = [];
const vscode = {
  workspace: {
    getConfiguration: () => ({ get: (key) => COMMAND }),
    onDidChangeConfiguration: () => ({}),
  },
  commands: { registerCommand: (name) => { asked.push(name); return {}; } },
  window: { showErrorMessage: (text) => asked.push(text) },
};
class LanguageClient {
  constructor(id, name, server, options) { asked.push([server, options.documentSelector]); }
  start() { return FAILS ? Promise.reject(new Error("ENOENT")) : Promise.resolve(); }
  isRunning() { return true; }
  stop() { asked.push("stopped"); }
}
const load = Module._load;
const fakes = { vscode, "vscode-languageclient/node": { LanguageClient } };
Module._load = (name, ...rest) => fakes[name] ?? load(name, ...rest);
const extension = require(PATH);
extension.activate({ subscriptions: [] })
  .then(() => extension.deactivate())
  .then(() => console.log(JSON.stringify(asked)));
"""


def test_the_manifest_is_complete(root: Path) -> None:
    folder = root / "editors" / "vscode"
    manifest = json.loads((folder / "package.json").read_text())
    (language,) = manifest["contributes"]["languages"]
    for file in (manifest["main"], language["configuration"]):
        assert (folder / file).is_file()
    json.loads((folder / language["configuration"]).read_text())
    settings = manifest["contributes"]["configuration"]["properties"]
    command, *arguments = settings["shardy.server.command"]["default"]
    assert command == "shardy-lsp"
    _parse(arguments)
    assert manifest["version"] in (root / "docs" / "editors.md").read_text()


@pytest.mark.parametrize("fails", [False, True])
def test_the_extension_starts_the_server(fails: bool, root: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    folder = root / "editors" / "vscode"
    manifest = json.loads((folder / "package.json").read_text())
    settings = manifest["contributes"]["configuration"]["properties"]
    constants = {
        "COMMAND": settings["shardy.server.command"]["default"],
        "FAILS": fails,
        "PATH": str(folder / "extension.js"),
    }
    script = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in constants.items()) + FAKE
    out = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True, timeout=60).stdout
    restart, (server, selector), *others = json.loads(out)
    assert restart == manifest["contributes"]["commands"][0]["command"]
    assert server == {"command": "shardy-lsp", "args": ["--stdio"]}
    assert selector == [{"language": "mlir"}]
    if fails:
        assert "cannot start 'shardy-lsp': ENOENT; install it: pip install" in others[0]
