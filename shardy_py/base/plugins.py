"""Plugins: modules of users that register dialects, rules, passes and targets of custom calls when loaded.

    load_plugins("my_package.sharding", "./my_dialect.py")
    load_plugins("my_package.sharding:register")          loads the module and calls the function
    load_installed_plugins()                              those of the entry point group `shardy_py.plugins`

Importing this package loads none: commands load the installed ones and those of `--load`, Python code calls
the functions above. Each plugin is loaded once in a process. Not here: what plugins call (docs/extending.md
lists it), methods that rooms above `api` provide (`extensions.py`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from shardy_py.base.errors import Diagnostic, InternalError, ShardyError
from shardy_py.base.session import SESSION

T = TypeVar("T")

GROUP = "shardy_py.plugins"
"""The entry point group of plugins that are installed."""
SWITCH = "SHARDY_PY_PLUGINS"
"""The environment variable that, set to `off`, keeps commands from loading installed plugins."""
TRACEBACK = "SDY_OPT_TRACEBACK"
"""The environment variable that shows the traceback of an exception instead of a diagnostic."""

_loaded: dict[str, ModuleType] = {}
"""The plugins loaded so far, by real path, or by name if they have none."""
_names: dict[str, None] = {}
"""The names that plugins were loaded by, in order; of files, absolute ones."""
_called: set[tuple[str, str]] = set()
"""The functions of plugins that were called."""
_owners: dict[tuple[str, str], str] = {}
_loading: ContextVar[str | None] = ContextVar("loading", default=None)


def load_plugins(*names: str) -> None:
    """Loads plugins, in order: modules by name, or files (`./name.py`), each with `:function` to be called.

    Raises:
        ShardyError: unknown module, file or function, or loading it raises an exception.
    """
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ShardyError.unexpected("", expected="a module or a file name.py", got=repr(name))
        _load(name, name)


def loaded_plugins() -> tuple[str, ...]:
    """Returns the names by which another process loads the plugins of this one, in their order."""
    return tuple(_names)


def load_installed_plugins() -> None:
    """Loads the plugins of the entry point group `shardy_py.plugins`, in the order of their names.

    Raises:
        ShardyError: loading one raises an exception.
    """
    folders = _folders()
    if os.environ.get(SWITCH, "").lower() == "off" or not any(map(_may_hold_plugins, folders)):
        return
    from importlib.metadata import distributions

    packages = {package.name: package for package in reversed([*distributions(path=folders)])}
    points = sorted(
        (point.name, point.value, name)
        for name, package in packages.items()
        for point in package.entry_points.select(group=GROUP)
    )
    for name, value, package in points:
        remedy = f"uninstall '{package}', or set {SWITCH}=off"
        _load(value.replace(" ", ""), f"{name}' ('{value}') of package '{package}", remedy)


def claim(kind: str, name: str) -> None:
    """Notes that a name is registered: what was derived without it is forgotten.

    Raises:
        ShardyError: it is registered by a plugin, and another plugin has registered it.
    """
    SESSION.clear()
    plugin = _loading.get()
    if plugin is None:
        return
    other = _owners.setdefault((kind, name), plugin)
    if other != plugin:
        raise ShardyError.unexpected(
            f"{kind} '{name}'", expected="one plugin that registers it", got=f"two, the other is '{other}'"
        )


def is_of_user(function: Callable[..., object]) -> bool:
    """Returns whether a function is defined outside of this package."""
    return not str(getattr(function, "__module__", "")).startswith("shardy_py.")


def call_of_user(what: str, function: Callable[..., T], *arguments: object) -> T:
    """Calls a function that a plugin has registered; `what` names it in the error.

    Raises:
        ShardyError: the function raises an exception.
    """
    try:
        return function(*arguments)
    except (ShardyError, InternalError):
        raise
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        name = type(error).__name__
        if name in _XDSL_ERRORS:
            raise ShardyError(f"{what}: {error}") from error
        remedy = f"{TRACEBACK}=1 shows where it happened"
        raise ShardyError(Diagnostic(f"{what}: {_place(error)}{name}: {error}", remedy=remedy)) from error


_XDSL_ERRORS = ("PassFailedException", "VerifyException", "DiagnosticException")
"""The exceptions by which xDSL reports mistakes in the input, by name: it is not loaded here."""


def _folders() -> list[str]:
    """The folders in which packages are installed: not the working directory, which `python -m` adds."""
    return [folder for folder in sys.path if os.path.realpath(folder) != os.getcwd()]


def _may_hold_plugins(folder: str) -> bool:
    """Returns whether a package of a folder may have a plugin, in a tenth of the time of `entry_points`."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return False
    except OSError:  # a zip archive, or a folder of another kind: `entry_points` decides
        return True
    return any(
        GROUP.encode() in text
        for name in names
        if name.endswith((".dist-info", ".egg-info"))
        for text in _entry_points_of(os.path.join(folder, name))
    )


def _entry_points_of(information: str) -> Iterator[bytes]:
    try:
        with open(os.path.join(information, "entry_points.txt"), "rb") as file:
            yield file.read()
    except OSError:
        return


def _load(name: str, shown: str, remedy: str = "") -> None:
    """Loads one plugin. shown: the name in messages, within quotes."""
    source, _, function = name.rpartition(":") if _has_function(name) else (name, "", "")
    is_file = source.endswith(".py") or os.sep in source
    if not is_file and not all(part.isidentifier() for part in source.split(".")):
        raise ShardyError.unexpected("", expected="a module or a file name.py", got=f"'{source}'")
    with _diagnosed(name, shown, source, remedy):
        identity = os.path.realpath(source) if is_file else _origin(source)
        if identity not in _loaded:
            _loaded[identity] = _file_module(source, identity) if is_file else import_module(source)
        if function and (identity, function) not in _called:
            _called.add((identity, function))
            _function(_loaded[identity], function)()
        _names[f"{identity if is_file else source}{function and f':{function}'}"] = None


def _has_function(name: str) -> bool:
    """Returns whether a name ends with `:function`; `C:\\x.py` does not."""
    return name.rpartition(":")[2].replace(".", "").isidentifier() and ":" in name


def _function(module: Any, path: str) -> Any:
    for part in path.split("."):
        if not hasattr(module, part):
            raise ShardyError.unknown("function", part, _functions_of(module))
        module = getattr(module, part)
    return module


def _functions_of(module: ModuleType) -> list[str]:
    """The names of what a module defines and that can be called."""
    named = vars(module).items()
    return [
        name
        for name, value in named
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    ]


def _origin(source: str) -> str:
    """The real path of a module, by which it is known also if it is loaded as a file; else its name."""
    from importlib.util import find_spec

    spec = find_spec(source)
    if spec is None:
        raise ModuleNotFoundError(f"No module named '{source}'", name=source)
    return os.path.realpath(spec.origin) if spec.has_location and spec.origin else source


def _file_module(source: str, identity: str) -> ModuleType:
    """The module of a file, which is known in the process by its real path."""
    from importlib.util import module_from_spec, spec_from_file_location

    if identity in sys.modules:
        return sys.modules[identity]
    spec = spec_from_file_location(identity, identity)
    if spec is None or spec.loader is None:
        raise ShardyError.unexpected("", expected="a file of Python, name.py", got=f"'{source}'")
    module = sys.modules[identity] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[identity]
        raise
    return module


@contextmanager
def _diagnosed(name: str, shown: str, source: str, remedy: str) -> Generator[None]:
    """Turns what a plugin raises into a `ShardyError` that names it and the line."""
    token = _loading.set(name)
    try:
        yield
    except (Exception, SystemExit) as error:
        if TRACEBACK in os.environ:
            raise
        fact = f"plugin '{shown}': {_reason(error, source)}"
        raise ShardyError(Diagnostic(fact, remedy=remedy)) from error
    finally:
        _loading.reset(token)


def _reason(error: BaseException, source: str) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and f"{source}.".startswith(f"{error.name}."):
        file = f"; ./{source}.py names a file" if os.path.exists(f"{source}.py") else ""
        return f"no module named '{error.name}'{file}"
    if isinstance(error, OSError) and error.filename and os.path.realpath(source) == error.filename:
        return f"cannot open file '{source}': {error.strerror}"
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    if isinstance(error, ShardyError):
        return f"{_place(error)}{error.first.message}"
    return f"{_place(error)}{type(error).__name__}: {error}"


def _place(error: BaseException) -> str:
    """The innermost line of the plugin's own folder that raised an error, `file:line: `; empty if unknown."""
    from traceback import extract_tb  # which takes a millisecond to load

    frames = [frame for frame in extract_tb(error.__traceback__) if not _is_of_loader(frame.filename)]
    if not frames:
        return ""
    folder = os.path.dirname(frames[0].filename)
    frame = [frame for frame in frames if frame.filename.startswith(folder)][-1]
    return f"{frame.filename}:{frame.lineno}: "


def _is_of_loader(file: str) -> bool:
    return file == __file__ or file.startswith("<frozen importlib") or "importlib" in file.split(os.sep)
