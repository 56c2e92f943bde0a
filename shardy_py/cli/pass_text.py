"""Parses passes with options: `--sdy-x='a=1 b={c d}'` and `--pass-pipeline='builtin.module(sdy-x{a=1})'`.

Messages are MLIR's. Our passes take the whole module, so nesting in `func.func(...)` is checked against the
row of the pass and has no further effect. Not here: the valid options (`passes/options.py`).

>>> [step.name for step in parse_pipeline("builtin.module(symbol-dce,func.func(sdy-drop-sharding-rules))")]
['symbol-dce', 'sdy-drop-sharding-rules']
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from shardy_py.base.cursor import MAX_INTEGER_DIGITS
from shardy_py.base.errors import ShardyError, suggestion
from shardy_py.base.records import dataclass
from shardy_py.passes import PassCall, PassRow, known_passes, pass_by_name
from shardy_py.passes.options import Option, OptionValue
from shardy_py.passes.pipelines import PIPELINES, Calls, pipeline_by_name
from shardy_py.passes.registration import FUNCTION, MODULE

_UNWRAPPED = "expected pass pipeline to be wrapped with the anchor operation type, e.g. 'builtin.module(...)'"
_ANCHORS = (MODULE, FUNCTION, "any")
_MOST = 1 << 63
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_BOOLEANS = {"true": True, "1": True, "": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class PipelineElement:
    """A pass (one call) or a pipeline (several calls) on the command line.

    expand: makes the calls, which depend on the current release.
    """

    name: str
    expand: Callable[[], Calls]
    is_pipeline: bool = False

    @property
    def calls(self) -> Calls:
        """The passes in order."""
        return self.expand()


def is_pass_or_pipeline(name: str) -> bool:
    """Returns whether a pass or pipeline has that name."""
    return pass_by_name(name) is not None or pipeline_by_name(name) is not None


def build_step(name: str, options: str = "") -> PipelineElement:
    """The step of an existing pass or pipeline, given the text of its options.

    Raises:
        ShardyError: an option is invalid.
    """
    row = pass_by_name(name) or pipeline_by_name(name)
    assert row is not None, name
    try:
        values = parse_options(options, row.options)
    except ShardyError as error:
        place = f"<unknown>:0: error: failed to add `{name}` with options `{options}`"
        raise ShardyError(f"{error.first.message}\n{place}") from None
    if isinstance(row, PassRow):
        call = PassCall.of(row, values)
        return PipelineElement(name, lambda: (call,))
    row.expand(**values)  # which raises for options that exclude each other
    return PipelineElement(name, partial(row.expand, **values), is_pipeline=True)


def parse_pipeline(text: str) -> tuple[PipelineElement, ...]:
    """The steps of a textual pipeline, in order.

    Raises:
        ShardyError: the text is invalid, or refers to an unknown pass or option.
    """
    wrapped = re.fullmatch(r"\s*([\w.]+)\s*\((.*)\)\s*", text, re.DOTALL)
    if wrapped is None:
        raise ShardyError(_UNWRAPPED)
    anchor, inner = wrapped.groups()
    if anchor not in (MODULE, "any"):
        raise ShardyError(f"can't run '{anchor}' pass manager on 'builtin.module' op")
    return _Reader(inner).read(anchor)


class _Reader:
    """Parses the text within the outermost parentheses."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def read(self, anchor: str) -> tuple[PipelineElement, ...]:
        steps = self.elements(anchor) if self.text.strip() else ()
        if self.position < len(self.text) and self.text.strip():
            extra = "encountered extra closing ')' creating unbalanced parentheses"
            raise self.error(f"{extra} while parsing pipeline")
        return steps

    def elements(self, anchor: str) -> tuple[PipelineElement, ...]:
        steps = self.element(anchor)
        while self.take(","):
            steps += self.element(anchor)
        return steps

    def element(self, anchor: str) -> tuple[PipelineElement, ...]:
        start = self.position
        name = self.word()
        if self.take("("):
            if name not in _ANCHORS or name == MODULE or anchor == FUNCTION:
                raise self.error(f"passes cannot be nested in '{name}' under '{anchor}'", start)
            steps = self.elements(name)
            if not self.take(")"):
                raise self.error("expected ')' at the end of a pass pipeline")
            return steps
        options = self.braces()
        if not is_pass_or_pipeline(name):
            hint = suggestion(name, [row.name for row in (*known_passes(), *PIPELINES)])
            fact = f"'{name}' does not refer to a registered pass or pass pipeline"
            raise self.error(f"{fact}{hint and f'; {hint}'}", start)
        step = build_step(name, options)
        _check_anchor(step, anchor)
        return (step,)

    def word(self) -> str:
        match = re.compile(r"\s*([^\s,(){}]*)\s*").match(self.text, self.position)
        assert match is not None
        self.position = match.end()
        return match.group(1)

    def take(self, character: str) -> bool:
        is_there = self.text.startswith(character, self.position)
        self.position += is_there
        return is_there

    def braces(self) -> str:
        """The text between the braces at this position; empty if there are none."""
        if not self.take("{"):
            return ""
        start, depth = self.position, 1
        for end in range(start, len(self.text)):
            depth += {"{": 1, "}": -1}.get(self.text[end], 0)
            if depth == 0:
                self.position = end + 1
                self.word()
                return self.text[start:end]
        raise self.error("missing closing '}' while processing pass options", start - 1)

    def error(self, fact: str, at: int | None = None) -> ShardyError:
        column = self.position if at is None else at
        place = f"MLIR Textual PassPipeline Parser:1:{column + 1}"
        return ShardyError(f"{place}: error: {fact}\n{self.text}\n{' ' * column}^")


def _check_anchor(step: PipelineElement, anchor: str) -> None:
    for call in step.calls[:1] if not step.is_pipeline else ():
        row = call.row
        if row.anchor and row.anchor != anchor:
            agnostic, typed = "an op-agnostic PassManager", f"a PassManager intended to run on '{anchor}'"
            target = agnostic if anchor == "any" else typed
            raise ShardyError(
                f"Can't add pass '{row.class_name}' restricted to '{row.anchor}' on {target}, "
                f"did you intend to nest?\n<unknown>:0: error: failed to add `{step.name}` with options ``"
            )
    if step.is_pipeline and anchor != MODULE:
        raise ShardyError(f"pipeline '{step.name}' runs on 'builtin.module', not on '{anchor}'")


def parse_options(text: str, options: tuple[Option, ...]) -> dict[str, OptionValue]:
    """Returns the values given in `keep-sharding-rules=true filter='a b'`, by field name.

    Raises:
        ShardyError: an option is unknown, or its value invalid.

    >>> parse_options("size=3", (Option("size", 1, "how many"),))
    {'size': 3}
    """
    rows = {option.name: option for option in options}
    values: dict[str, OptionValue] = {}
    for word in _split_words(_unwrapped(text)):
        name, _, value = word.partition("=")
        option = rows.get(name)
        if option is None:
            fields, hint = ", ".join(rows) or "none", suggestion(name, rows)
            fact = f"<Pass-Options-Parser>: no such option {name}{hint and f'; {hint}'}"
            raise ShardyError(f"{fact}\nnote: its options: {fields}")
        values[option.field_name] = _READERS[type(option.default)](option, _unwrapped(value))
    return values


def _split_words(text: str, separator: str = " ") -> list[str]:
    """Returns the words of `text` between separators outside of quotes and brackets."""
    words, closing = [""], list[str]()
    for character in text:
        if closing:
            if character == closing[-1]:
                closing.pop()
            elif character in _CLOSING and closing[-1] not in "'\"":
                closing.append(_CLOSING[character])
        elif character in "'\"" or character in _CLOSING:
            closing.append(_CLOSING.get(character, character))
        elif character == separator:
            words.append("")
            continue
        words[-1] += character
    return [word for word in words if word]


def _unwrapped(text: str) -> str:
    wrapped = re.fullmatch(r"""\s*(?:\{(.*)\}|"(.*)"|'(.*)')\s*""", text, re.DOTALL)
    return next(part for part in wrapped.groups() if part is not None) if wrapped else text.strip()


def _read_boolean(option: Option, text: str) -> OptionValue:
    if text.lower() not in _BOOLEANS:
        raise _invalid(option, f"'{text}' is invalid value for boolean argument! Try 0 or 1")
    return _BOOLEANS[text.lower()]


def _read_integer(option: Option, text: str) -> OptionValue:
    if not re.fullmatch(r"-?[0-9]+", text):
        raise _invalid(option, f"'{text}' value invalid for integer argument!")
    if len(text) > MAX_INTEGER_DIGITS or not -_MOST <= int(text) < _MOST:
        raise _invalid(option, f"'{text[:40]}...' value invalid for integer argument!")
    return int(text)


def _read_text(option: Option, text: str) -> OptionValue:
    if option.choices and text not in option.choices:
        choices, hint = ", ".join(option.choices), suggestion(text, option.choices)
        fact = f"Cannot find option named '{text}'!{hint and f' {hint}'}"
        raise _invalid(option, f"{fact}\nnote: its values: {choices}")
    return text


def _invalid(option: Option, fact: str) -> ShardyError:
    return ShardyError(f"for the --{option.name} option: {fact}")


_READERS: dict[type, Callable[[Option, str], OptionValue]] = {
    bool: _read_boolean,
    int: _read_integer,
    str: _read_text,
    tuple: lambda option, text: tuple(_split_words(text, ",")),
}
