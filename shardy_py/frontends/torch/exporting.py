"""Modules exported by torch, with a remedy where that fails.

    from_module(model, (tokens,), mesh=mesh, plan=FullyShard("dp"))

torch's errors name what it cannot trace, at a line of torch; ours name the line of the model, and what helps.
Not here: exported models (`programs.py`).
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardy_py.api import ShardyError
from shardy_py.base.errors import Diagnostic, Position
from shardy_py.frontends.torch.placements import torch_module

_DEPENDS = r"data-dependent|GuardOnDataDependent|DynamicOutputShape|unbacked"


@dataclass(frozen=True)
class Hint:
    """Advice on errors of a kind.

    error: a pattern of the error's type and text. frames: of the files and functions it passed; "": any.
    strict: only for exports that are strict, or not; None: for both.
    """

    error: str
    remedy: str
    frames: str = ""
    strict: bool | None = None


HINTS = (
    Hint(r"Cache\b", "pass use_cache=False to the model, or set it in its configuration"),
    Hint(
        r"(?i)flex_?attention|flash_?att|attention_interface|xformers",
        'load the model with attn_implementation="sdpa", or "eager"',
    ),
    Hint(_DEPENDS, 'load the model with experts_implementation="batched_mm"', frames=r"(?i)moe|expert"),
    Hint(
        _DEPENDS,
        'load the model with attn_implementation="eager", or pass the attention mask it computes',
        frames=r"masking_utils|attention_mask",
    ),
    Hint(
        _DEPENDS,
        "the number of boxes depends on their scores: export the model without the selection of boxes",
        frames=r"nms|postprocess|post_process",
    ),
    Hint(
        _DEPENDS,
        "the code depends on elements of a tensor: use torch.where or torch.cond, or give it the numbers",
    ),
    Hint(
        r"Couldn't swap",
        "the model converts parameters as it runs, as `to(dtype)` does: convert them before the export",
    ),
    Hint(r"torch\._dynamo|Unsupported|Encountered unrecognized", "export with strict=False", strict=True),
    Hint("", "export with strict=False, or torch.export.draft_export, which lists the causes", strict=True),
    Hint("", "export with strict=True, or torch.export.draft_export, which lists the causes", strict=False),
)
"""The first one that fits is used."""

_MOST_TEXT = 240
"""Characters of torch's message; conditions on many sizes have thousands."""


def export(
    model: Any,
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
    *,
    strict: bool = False,
) -> Any:
    """The exported model, called with these arguments; without gradients.

    Raises `ShardyError`, at the line of the model, if torch cannot export it, with what helps.
    """
    torch = torch_module("torch")
    if not isinstance(model, torch.nn.Module):
        raise ShardyError.unexpected("", expected="a torch.nn.Module", got=type(model).__name__)
    try:
        with torch.no_grad():
            return torch.export.export(model, tuple(args), dict(kwargs or {}), strict=strict)
    except Exception as error:  # of any type: it is the model's code, and torch's
        raise _failure(error, strict) from error


def _failure(error: Exception, strict: bool) -> ShardyError:
    name = type(error).__name__
    text = f"{type(error).__module__}.{name} {error}"
    frames = traceback.extract_tb(error.__traceback__)
    passed = " ".join(f"{frame.filename}:{frame.name}" for frame in frames)
    hint = next(hint for hint in HINTS if _fits(hint, text, passed, strict))
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    short = first if len(first) <= _MOST_TEXT else f"{first[:_MOST_TEXT]}..."
    what = f"torch.export failed: {name}: {short}"
    return ShardyError(Diagnostic(what, _position(frames), remedy=hint.remedy))


def _fits(hint: Hint, text: str, passed: str, strict: bool) -> bool:
    is_kind = hint.strict is None or hint.strict == strict
    return is_kind and bool(re.search(hint.error, text)) and bool(re.search(hint.frames, passed))


def _position(frames: Sequence[traceback.FrameSummary]) -> Position | None:
    """The innermost line that is neither in torch nor here."""
    inside = (f"{Path(torch_module('torch').__file__).parent}{os.sep}", __file__, "<")
    outside = [frame for frame in frames if not frame.filename.startswith(inside)]
    return Position(outside[-1].filename, outside[-1].lineno or 1, 1) if outside else None
