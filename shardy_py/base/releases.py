"""Releases of the reference, the one that work in this context follows, and classes that follow theirs.

The reference is Shardy and XLA as a release of JAX carries them; what changed between releases is in
`behaviours.py`.

    with releases.of("0.10"):
        module = pipeline.propagate(module)

Not here: anything that chooses a release.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, wraps
from types import FunctionType
from typing import Any, TypeVar, cast

from shardy_py.base.errors import ShardyError
from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass

Class = TypeVar("Class", bound=type)


@dataclass(frozen=True, slots=True)
class Release:
    """A release of JAX with the Shardy and the XLA in its jaxlib, or a commit of Shardy's own tree.

    name: major and minor number, as `--jax` takes it; for a tree, `shardy-` and the day of the commit.
    order: the position among the releases.
    producers: what the bytecode that its jaxlib and `jax.export` write begins with.
    """

    name: str
    order: int
    producers: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As reports say it."""
        project, _, day = self.name.partition("-")
        return f"Shardy {day}" if project == "shardy" else f"JAX {self.name}"


JAX_0_10 = Release("0.10", 0, ("MLIR23", "StableHLO_v1.15"))
SHARDY_2026_08_22 = Release("shardy-2026-08-22", 1)
JAX_0_11 = Release("0.11", 2, ("MLIR24", "StableHLO_v1.18"))
JAX_0_12 = Release("0.12", 3, ("MLIR24", "StableHLO_v1.18"))
RELEASES = (JAX_0_10, JAX_0_11, JAX_0_12)
"""The releases of JAX, oldest first."""
TREES = (SHARDY_2026_08_22,)
"""Commits of openxla/shardy whose tests are run: followed where they are named, never chosen."""
NEWEST = RELEASES[-1]
DEFAULT = NEWEST
"""Followed unless something else is asked for."""

KEY = "jax"
"""The key of a release, as its name, in reports and saved results in JSON."""

_CURRENT: ContextVar[Release] = ContextVar("release of the reference", default=DEFAULT)


def current() -> Release:
    """Returns the release that work in this context follows: `DEFAULT`, unless `of` says otherwise."""
    return _CURRENT.get()


def named(name: str) -> Release:
    """Returns the release with the name, which may have a patch number, or the tree with it.

    Raises:
        ShardyError: unknown release.

    >>> named("0.10.2").name, str(named("shardy-2026-08-22"))
    ('0.10', 'Shardy 2026-08-22')
    """
    numbers = _numbers(name)
    for release in (*RELEASES, *TREES):
        if release.name == name or (numbers is not None and numbers == _numbers(release.name)):
            return release
    raise ShardyError.unknown("release of JAX", name, [release.name for release in RELEASES])


def heading(schema: int, release: Release) -> JsonObject:
    """Returns the fields that a report in JSON begins with.

    >>> heading(2, JAX_0_10)
    {'schema': 2, 'jax': '0.10'}
    """
    return {"schema": schema, KEY: release.name}


def installed(version: str) -> tuple[Release, str]:
    """Returns the release for a jaxlib of this version, and a remark if it is none of those known, else "".

    The latest that is not newer, as changes since then are unknown; the oldest for one that is older still.

    >>> installed("0.12.0.1")[1]
    ''
    >>> installed("0.13.1")
    (Release(...'0.12'...), 'jaxlib 0.13.1 is newer than the newest release known, ...')
    """
    numbers = _numbers(version) or _numbers(NEWEST.name) or (0, 0)
    older = [release for release in RELEASES if (_numbers(release.name) or numbers) <= numbers]
    release = older[-1] if older else RELEASES[0]
    if _numbers(release.name) == numbers:
        return release, ""
    if release is NEWEST:
        fact = f"is newer than the newest release known, {release.name}"
    else:
        fact = f"is between or before the releases known, {', '.join(each.name for each in RELEASES)}"
    return release, f"jaxlib {version} {fact}: shardings and collectives are those of {release}"


def written_by(producer: str) -> Release | None:
    """Returns the newest release whose jaxlib writes bytecode of this producer; None if none is known to.

    >>> str(written_by("MLIR24.0.0git")), written_by("MLIR19.1.0")
    ('JAX 0.12', None)
    """
    found = [r for r in RELEASES for start in r.producers if re.match(rf"{re.escape(start)}(\D|$)", producer)]
    return found[-1] if found else None


def _numbers(name: str) -> tuple[int, int] | None:
    """Major and minor number of a version; None if it is none."""
    match = re.match(r"(\d{1,9})\.(\d{1,9})(\.|[a-z]|$)", name)
    return None if match is None else (int(match[1]), int(match[2]))


@contextmanager
def of(release: Release | str) -> Generator[Release]:
    """Follows a release within.

    Raises:
        ShardyError: unknown release.
    """
    release = named(release) if isinstance(release, str) else release
    token = _CURRENT.set(release)
    try:
        yield release
    finally:
        _CURRENT.reset(token)


def following(kind: Class) -> Class:
    """Makes the methods and properties of a class follow the `release` of their object. A class decorator.

    Reports are made when they are asked for, long after the `with` that the program was made in.

    >>> @following
    ... @dataclass
    ... class Report:
    ...     release: Release
    ...     def by(self) -> str:
    ...         return str(current())
    >>> Report(JAX_0_10).by(), Report(JAX_0_12).by()
    ('JAX 0.10', 'JAX 0.12')
    """
    for name, member in [*vars(kind).items()]:
        if name == "release" or (name.startswith("__") and name != "__getitem__"):
            continue
        if isinstance(member, FunctionType):
            setattr(kind, name, _following(member))
        elif isinstance(member, property) and member.fget is not None:
            setattr(kind, name, property(_following(member.fget), doc=member.__doc__))
        elif isinstance(member, cached_property):
            made = cast("cached_property[Any]", member)
            made.func = _following(made.func)
    return kind


def _following(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def run(self: Any, *arguments: Any, **keywords: Any) -> Any:
        release = self.release
        if release is _CURRENT.get():
            return method(self, *arguments, **keywords)
        with of(release):
            return method(self, *arguments, **keywords)

    return run
