"""The server as an editor speaks with it: a real client, and a process of the command."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.check.test_verdict import PROGRAM as OF_JAX
from tests.check.test_verdict import SOURCE

pytest_lsp = pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed")
types = pytest.importorskip("lsprotocol.types", reason="pygls is not installed")

PROGRAM = """\
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.tanh %arg0 : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""


class Editor:
    """A client with one document open."""

    def __init__(self, client: Any, path: Path) -> None:
        self.client, self.uri, self.text, self.version = client, path.as_uri(), "", 0

    def open(self, text: str) -> None:
        self.text = text
        document = types.TextDocumentItem(self.uri, "mlir", self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def type(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        document = types.VersionedTextDocumentIdentifier(uri=self.uri, version=self.version)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def diagnostics(self, *codes: str | None) -> list[Any]:
        """Waits until diagnostics of these codes are published; None: of the reader, which has none."""
        for _ in range(3000):
            found = self.client.diagnostics.get(self.uri)
            if found is not None and [each.code for each in found] == [*codes]:
                return list(found)
            await asyncio.sleep(0.02)
        raise AssertionError(f"expected {codes}, got {found}")

    def at(self, word: str, number: int = 0) -> dict[str, Any]:
        """The document and the place of an occurrence of a word, as most requests have them."""
        offset = -1
        for _ in range(number + 1):
            offset = self.text.index(word, offset + 1)
        before = self.text[:offset]
        place = types.Position(before.count("\n"), offset - before.rfind("\n") - 1)
        return {"text_document": types.TextDocumentIdentifier(self.uri), "position": place}

    def range(self) -> dict[str, Any]:
        end = types.Position(self.text.count("\n") + 1, 0)
        return {
            "text_document": types.TextDocumentIdentifier(self.uri),
            "range": types.Range(types.Position(0, 0), end),
        }

    async def hover(self, word: str, number: int = 0) -> str:
        found = await self.client.text_document_hover_async(types.HoverParams(**self.at(word, number)))
        return "" if found is None else str(found.contents.value)

    async def hints(self) -> list[tuple[int, str]]:
        found = await self.client.text_document_inlay_hint_async(types.InlayHintParams(**self.range()))
        return [(hint.position.line, hint.label) for hint in found]

    async def actions(self) -> list[Any]:
        context = types.CodeActionContext([])
        parameters = types.CodeActionParams(context=context, **self.range())
        return list(await self.client.text_document_code_action_async(parameters))

    def edited(self, action: Any) -> str:
        """The text after a code action."""
        lines = self.text.split("\n")
        starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
        text = self.text
        for edit in reversed(action.edit.changes[self.uri]):
            start, end = (
                starts[place.line] + place.character for place in (edit.range.start, edit.range.end)
            )
            text = text[:start] + edit.new_text + text[end:]
        return text


def converse(folder: Path, talk: Callable[[Editor], Awaitable[None]]) -> None:
    """Starts the server, and has an editor speak with it."""

    async def run() -> None:
        client = pytest_lsp.make_test_lsp_client()
        code = "from shardy_py.cli.lsp import main; raise SystemExit(main(['--stdio']))"
        await client.start_io(sys.executable, "-c", code)
        capabilities = pytest_lsp.client_capabilities("visual-studio-code")
        await client.initialize_session(types.InitializeParams(capabilities=capabilities))
        try:
            await talk(Editor(client, folder / "model.mlir"))
        finally:
            await client.shutdown_session()
            await client.stop()

    asyncio.run(run())


def test_a_session(tmp_path: Path) -> None:
    async def talk(editor: Editor) -> None:
        editor.open(PROGRAM)
        assert await editor.hover("%0")  # before anything is read
        (note,) = await editor.diagnostics("SDY006")
        assert (note.code, note.source, note.range.start.line) == ("SDY006", "sdy-check", 1)
        assert await editor.hints() == [(1, '[{"x"}, {}]'), (3, '[{"x"}, {}]')]
        text = await editor.hover("%0", 1)
        assert "on each device `tensor<4x4xf32>`" in text
        assert "dim 0 is sharded along x\n    from the result sharding of result 0" in text
        assert await editor.hover("func.func") == ""
        (action,) = await editor.actions()
        assert action.title.startswith("SDY006: add the sharding that was propagated")
        fixed = editor.edited(action)
        assert fixed == PROGRAM.replace("[{?}, {?}]", '[{"x"}, {}]')

        # Half typed: an error at its place, and answers by the last text that could be read.
        editor.type(PROGRAM.replace("  return", "  %1 = stablehlo.add %0, \n  return"))
        assert "on each device `tensor<4x4xf32>`" in await editor.hover("%0")
        (error,) = await editor.diagnostics(None)
        assert (error.severity, error.source) == (types.DiagnosticSeverity.Error, "shardy")
        assert error.range.start.line in (4, 5)
        assert (3, '[{"x"}, {}]') in await editor.hints()

        editor.type(fixed)
        assert await editor.diagnostics() == []
        assert await editor.hints() == [(3, '[{"x"}, {}]')]
        names = await editor.client.text_document_document_symbol_async(
            types.DocumentSymbolParams(types.TextDocumentIdentifier(editor.uri))
        )
        assert [each.name for each in names] == ["@mesh", "@main"]

    converse(tmp_path, talk)


def test_names_of_unknown_dialects(tmp_path: Path) -> None:
    text = "foo.func @g(%a: i1) {\n  %b:2 = foo.op %a { bar } \n  foo.use %b#1, @g\n}\n"

    async def talk(editor: Editor) -> None:
        editor.open(text)
        (note,) = await editor.diagnostics(None)
        assert note.severity == types.DiagnosticSeverity.Information
        assert "only its names are followed" in note.message
        found = await editor.client.text_document_definition_async(
            types.DefinitionParams(**editor.at("%b#1"))
        )
        assert (found.range.start.line, found.range.start.character) == (1, 2)
        context = types.ReferenceContext(include_declaration=True)
        found = await editor.client.text_document_references_async(
            types.ReferenceParams(context=context, **editor.at("@g"))
        )
        assert [each.range.start.line for each in found] == [0, 2]
        for damaged in (text[:20], "", "\U0001f600 %", text + "}}}", '"', "func.func @main(%a: \x00"):
            editor.type(damaged)
            assert await editor.hints() == []
            assert isinstance(await editor.actions(), list)

    converse(tmp_path, talk)


def test_remedies_in_python_and_in_the_program(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(SOURCE)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.sdy-check]\nreshard-bytes = 1\nselect = ["SDY003"]\nsource-root = ["."]\n'
    )

    async def talk(editor: Editor) -> None:
        editor.open(OF_JAX)
        (warning,) = await editor.diagnostics("SDY003")
        assert warning.range.start.line == OF_JAX[: OF_JAX.index("%2 =")].count("\n")
        (related,) = warning.related_information
        assert (related.location.uri, related.location.range.start.line) == ((tmp_path / "m.py").as_uri(), 4)
        actions = await editor.actions()
        (in_python,) = (each for each in actions if editor.uri not in each.edit.changes)
        ((uri, (edit,)),) = in_python.edit.changes.items()
        assert uri == (tmp_path / "m.py").as_uri()
        assert "with_sharding_constraint" in edit.new_text
        (here,) = (each for each in actions if editor.uri in each.edit.changes)
        editor.type(editor.edited(here))
        assert await editor.diagnostics() == []  # the change helps

    converse(tmp_path, talk)
