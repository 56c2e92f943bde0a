"""Calls of a model, loss or optimizer that fail: the line of the user's code, arguments that do not fit.

    with fitting("mse_loss", mse_loss, (output,), {}, "pass ..."):
        mse_loss(output)        call of mse_loss: missing a required argument: 'target'

`called_with` calls a model with other tensors. Not here: why torch cannot export a model (`exporting.py`), or
trace a step (`trace.py`).
"""

from __future__ import annotations

import inspect
import os
import sysconfig
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from warnings import catch_warnings, simplefilter

from shardy_py.api import ShardyError
from shardy_py.base.errors import Diagnostic, Position
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.traced import Traced

_MOST_TEXT = 240
"""Characters of an error's text; conditions on many sizes have thousands."""


@cache
def _folders() -> tuple[str, ...]:
    """The beginnings of files of torch, this folder, and code that is generated."""
    torch = Path(torch_module("torch").__file__).parent
    return f"{torch}{os.sep}", f"{Path(__file__).parent}{os.sep}", "<"


@lru_cache(4096)
def is_users(file: str) -> bool:
    """Returns whether a file has code of a user, not of torch, Python's library or this folder."""
    library = sysconfig.get_path("stdlib") + os.sep
    # Packages are often installed within the library.
    is_library = file.startswith(library) and "-packages" not in file.removeprefix(library)
    return not file.startswith(_folders()) and not is_library


def place_of(error: BaseException) -> Position | None:
    """The innermost line of the user's code that an error passed."""
    return _last_of_user(traceback.extract_tb(error.__traceback__))


def user_line() -> Position | None:
    """The innermost line of the user's code that is running."""
    return _last_of_user(traceback.extract_stack())


def _last_of_user(frames: traceback.StackSummary) -> Position | None:
    own = [frame for frame in frames if is_users(frame.filename)]
    return Position(own[-1].filename, own[-1].lineno or 1, 1) if own else None


def short_text(error: BaseException) -> str:
    """The first line of an error's text, with its class."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    short = first if len(first) <= _MOST_TEXT else f"{first[:_MOST_TEXT]}..."
    return ": ".join(filter(None, (type(error).__name__, short)))


@contextmanager
def without_own_warnings() -> Generator[None]:
    """Within it, torch does not warn of what it does itself, at lines of Python's library."""
    with catch_warnings():
        simplefilter("ignore", FutureWarning)
        yield


@contextmanager
def fitting(
    name: str,
    function: Callable[..., object],
    positional: Sequence[object],
    keywords: Mapping[str, object],
    remedy: str,
) -> Generator[None]:
    """Within it, a function is called. Raises `ShardyError` if the call fails since arguments do not fit."""
    try:
        yield
    except TypeError as error:
        found = _misfit(function, positional, keywords)
        if found is None:
            raise
        reason, expected = found
        what = f"call of {name}: {reason}"
        raise ShardyError(Diagnostic(what, expected=expected, remedy=remedy)) from error


def _misfit(
    function: Callable[..., object], positional: Sequence[object], keywords: Mapping[str, object]
) -> tuple[str, str] | None:
    """Why arguments do not fit the parameters of a function, and these; None if they fit, or are unknown."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a function that does not say
        return None
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        return str(error), f"({', '.join(map(_parameter, signature.parameters.values()))})"
    return None


def _parameter(given: inspect.Parameter) -> str:
    stars = {given.VAR_POSITIONAL: "*", given.VAR_KEYWORD: "**"}.get(given.kind, "")
    return f"{stars}{given.name}{'' if given.default is given.empty else '=...'}"


def called_with(
    model: Traced,
    tensors: Mapping[str, object],
    args: Sequence[object],
    keywords: Mapping[str, object] | None = None,
) -> Traced:
    """As `torch.func.functional_call`, after which a module that is registered twice has its own tensors.

    torch gives back the tensors of the second path, which are those of the call.
    """
    own = [(module, dict(module._parameters), dict(module._buffers)) for module in model.modules()]
    try:
        return torch_module("torch").func.functional_call(
            model, dict(tensors), tuple(args), dict(keywords or {})
        )
    finally:
        for module, parameters, buffers in own:
            module._parameters.update(parameters)
            module._buffers.update(buffers)
