"""The Language Server Protocol over what `documents.py` knows, with pygls, which the extra `lsp` installs.

A document is analysed when it has not changed for a moment, in the only thread that reads programs; questions
are answered at once, from the names of the text and the last facts. Not here: the command (`cli/lsp.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from shardy_py import __version__
from shardy_py.api import Result, Value
from shardy_py.base.errors import Position
from shardy_py.lsp.analysis import TextProblem
from shardy_py.lsp.documents import OfferedRemedy, OpenDocument, first_analysis, second_analysis
from shardy_py.lsp.facts import facts_at, hover_text, why_text
from shardy_py.lsp.names import NameDefinition

QUIET_SECONDS = 0.3
"""How long a document has not changed when it is analysed."""
_PATIENCE_SECONDS = 1.0
"""How long a hover waits for an explanation while a text is analysed."""
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "remark": types.DiagnosticSeverity.Information,
    "note": types.DiagnosticSeverity.Information,
}
Answer = TypeVar("Answer")


class ShardyServer(LanguageServer):
    """The server of one editor."""

    def __init__(self, quiet_seconds: float = QUIET_SECONDS) -> None:
        super().__init__("shardy-lsp", __version__)  # pyright: ignore[reportUnknownMemberType]
        self.documents: dict[str, OpenDocument] = {}
        self._quiet_seconds = quiet_seconds
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._reader = ThreadPoolExecutor(1, "reader")  # memo tables of programs are of one thread

    def opened(self, uri: str) -> OpenDocument:
        """Returns a document with its current text."""
        document = self.documents.get(uri)
        if document is None:
            document = self.documents[uri] = OpenDocument(uris.to_fs_path(uri) or "untitled.mlir")
        document.change(self.workspace.get_text_document(uri).source)
        return document

    def closed(self, uri: str) -> None:
        """Forgets a document."""
        self._stop(uri)
        self.documents.pop(uri, None)
        self._publish(uri, [])

    def changed(self, uri: str) -> None:
        """Analyses a document once it does not change any more."""
        self.opened(uri)
        self._stop(uri)
        self._tasks[uri] = asyncio.get_running_loop().create_task(self._analyse(uri))

    def _stop(self, uri: str) -> None:
        task = self._tasks.pop(uri, None)
        if task is not None:
            task.cancel()

    async def read(self, work: Callable[[], Answer]) -> Answer:
        """Returns what a function returns that reads programs."""
        return await asyncio.get_running_loop().run_in_executor(self._reader, work)

    async def _analyse(self, uri: str) -> None:
        await asyncio.sleep(self._quiet_seconds)
        document = self.documents[uri]
        text, file = document.text, document.file
        found, settings = await self.read(lambda: first_analysis(text, file))
        document.keep(found)
        self._publish(uri, self._diagnostics(uri, document))
        if found.result is None:
            return
        if self.client_capabilities.workspace is not None:
            hints = self.client_capabilities.workspace.inlay_hint
            if hints is not None and hints.refresh_support:
                self.workspace_inlay_hint_refresh(None)
        whole = await self.read(lambda: second_analysis(found, file, settings))
        document.keep(whole)
        self._publish(uri, self._diagnostics(uri, document))

    def _publish(self, uri: str, diagnostics: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics))

    def _diagnostics(self, uri: str, document: OpenDocument) -> list[types.Diagnostic]:
        return [diagnostic_of(problem, uri, document) for problem in document.problems()]


def range_of(document: OpenDocument, start: int, end: int) -> types.Range:
    """Returns the range between two offsets."""
    places = (document.lines.place(start), document.lines.place(end))
    return types.Range(*(types.Position(line, column) for line, column in places))


def offset_of(document: OpenDocument, position: types.Position) -> int:
    """Returns the offset of a position."""
    return document.lines.offset(position.line, position.character)


def diagnostic_of(problem: TextProblem, uri: str, document: OpenDocument) -> types.Diagnostic:
    """Returns a problem as the protocol has it."""
    related: list[types.DiagnosticRelatedInformation] = []
    place = problem.elsewhere
    if place is not None and (path := document.path_of(place.file)):
        start = types.Position(max(place.line - 1, 0), max(place.column - 1, 0))
        where = types.Location(uris.from_fs_path(path) or "", types.Range(start, start))
        related = [types.DiagnosticRelatedInformation(where, "the source line")]
    elif place is not None:
        where = types.Location(uri, range_of(document, problem.start, problem.end))
        related = [types.DiagnosticRelatedInformation(where, str(place))]
    return types.Diagnostic(
        range_of(document, problem.start, problem.end),
        problem.message,
        severity=_SEVERITIES[problem.severity],
        code=problem.code or None,
        source="sdy-check" if problem.code else "shardy",
        related_information=related or None,
    )


def create_server(quiet_seconds: float = QUIET_SECONDS) -> ShardyServer:
    """Returns a server with all its features."""
    server = ShardyServer(quiet_seconds)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.changed(params.text_document.uri)  # settings may have changed

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        return await _hover(server, server.opened(params.text_document.uri), params.position)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> types.Location | None:
        document = server.opened(params.text_document.uri)
        found = _definition(document, params.position)
        if found is None:
            return None
        return types.Location(params.text_document.uri, range_of(document, found.start, found.end))

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def references(params: types.ReferenceParams) -> list[types.Location]:
        document = server.opened(params.text_document.uri)
        found = _definition(document, params.position)
        if found is None:
            return []
        own = [(found.start, found.end)] if params.context.include_declaration else []
        spans = [range_of(document, *span) for span in (*own, *found.uses)]
        return [types.Location(params.text_document.uri, span) for span in spans]

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        document = server.opened(params.text_document.uri)
        found: list[types.DocumentSymbol] = []
        for each in document.index.symbols.values():
            span = range_of(document, each.start, each.end)
            found.append(types.DocumentSymbol(each.name, types.SymbolKind.Function, span, span))
        return found

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        document = server.opened(params.text_document.uri)
        ends = offset_of(document, params.range.start), offset_of(document, params.range.end)
        return [
            types.InlayHint(
                range_of(document, each.end, each.end).start,
                label,
                kind=types.InlayHintKind.Type,
                tooltip=tooltip,
                padding_left=True,
            )
            for each, label, tooltip in document.hints(*ends)
        ]

    options = types.CodeActionOptions([types.CodeActionKind.QuickFix])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        document = server.opened(uri)
        ends = offset_of(document, params.range.start), offset_of(document, params.range.end)
        return [_action(remedy, uri, document) for remedy in document.remedies(*ends)]

    # The decorators have registered them.
    _ = (opened, changed, saved, closed, hover, definition, references, symbols, hints, actions)
    return server


def _definition(document: OpenDocument, position: types.Position) -> NameDefinition | None:
    found = document.index.at(offset_of(document, position))
    return None if found is None else found[2]


async def _hover(
    server: ShardyServer, document: OpenDocument, position: types.Position
) -> types.Hover | None:
    start, end, definition = document.index.at(offset_of(document, position)) or (0, 0, None)
    if definition is None:
        return None
    written = document.text[start:end]
    known = facts_at(document.facts, definition)
    known = [(name, fact) for name, fact in known if name == written] or known
    if not known:
        line = document.lines.line(document.lines.place(definition.start)[0]).strip()
        text = f"```mlir\n{line[:500]}\n```"
    else:
        result = document.good.result if document.good is not None else None
        parts: list[str] = []
        for name, fact in known:
            why = ""
            if result is not None and len(known) == 1:
                why = await _why(server, result, fact.value)
            parts.append(hover_text(name, fact, why))
        text = "\n\n---\n\n".join(parts)
    content = types.MarkupContent(types.MarkupKind.Markdown, text)
    return types.Hover(content, range_of(document, start, end))


async def _why(server: ShardyServer, result: Result, value: Value) -> str:
    """The explanation of a value; "" while a text is analysed."""
    task = asyncio.ensure_future(server.read(lambda: why_text(result, value)))
    done, _ = await asyncio.wait((task,), timeout=_PATIENCE_SECONDS)
    return task.result() if done else ""


def _action(remedy: OfferedRemedy, uri: str, document: OpenDocument) -> types.CodeAction:
    own = [types.TextEdit(range_of(document, each.start, each.end), each.new) for each in remedy.changes]
    changes: dict[str, Sequence[types.TextEdit]] = {uri: own} if own else {}
    for path, places in remedy.files.items():
        edits = [types.TextEdit(types.Range(_from_zero(s), _from_zero(e)), new) for s, e, new in places]
        changes[uris.from_fs_path(path) or ""] = edits
    return types.CodeAction(
        remedy.title,
        types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic_of(remedy.problem, uri, document)],
        edit=types.WorkspaceEdit(changes),
    )


def _from_zero(place: Position) -> types.Position:
    """A position of a source file, whose columns count from 0 already."""
    return types.Position(max(place.line - 1, 0), max(place.column, 0))
