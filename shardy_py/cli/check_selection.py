"""The programs that a command line of `sdy-check` names, each with its settings.

A flag takes precedence over the setting of a pyproject.toml; levels, trip counts and expected communication
are added to those of it. Not here: flags (`check.py`), keys of the file (`shardy_py.check.settings`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from shardy_py.base.inputs.listing import listed_programs
from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.base.records import dataclass
from shardy_py.cli.checked_programs import CheckJob
from shardy_py.cli.shell import STANDARD, Files, usage_error
from shardy_py.cli.torch_plans import torch_plan_of

if TYPE_CHECKING:
    from shardy_py.check import CheckSettings

_NOT_FLAGS = ("expect", "per_file_ignores", "files", "exclude", "folder")
"""Settings that flags do not replace."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The programs to be checked; is_one: one was named, not several, nor a folder or pattern."""

    jobs: tuple[CheckJob, ...]
    is_one: bool


def selection(options: argparse.Namespace, files: Files) -> Selection:
    """Returns the programs of a command line, with their settings.

    Raises:
        ShardyError: nothing is found for a name, or a pyproject.toml has an unknown key or an invalid value.
    """
    settings_in = _finder(options, files)
    names: list[str] = options.programs
    if not names:
        here = settings_in(os.curdir)
        names = [os.path.relpath(os.path.join(here.folder, name)) for name in here.files]
    if not names:
        where = "pyproject.toml can name programs: files of [tool.sdy-check]"
        raise usage_error(f"expected a program, or --rules; {where}")

    def settings_of(program: str) -> CheckSettings:
        folder = program if os.path.isdir(program) else os.path.dirname(program)
        return settings_in(os.curdir if program == STANDARD else folder or os.curdir)

    found = listed_programs(names, lambda program: settings_of(program).excludes(program))
    if options.force_exclude:
        found = [each for each in found if not settings_of(each.name).excludes(each.name)]
    is_one = len(names) == len(found) == 1 and not found[0].is_found
    flags = _flags(options)
    flag_expected = tuple[str, ...](options.expect)
    prints_verdict = options.format in ("text", "json") and options.write_baseline is None
    shows_verdict = options.sarif is not None or prints_verdict

    def job(program: str) -> CheckJob:
        settings = _with_flags(settings_of(program), flags)
        strict, expected = (flag_expected, ()) if is_one else ((), flag_expected)
        return CheckJob(
            program,
            replace(settings, expect=(*settings.expect, *expected)),
            options.input_format,
            frozenset(flags),
            torch_plan_of(options),
            strict=strict,
            has_verdict=shows_verdict and settings.verdict,
            has_progress=not options.no_progress,
        )

    return Selection(tuple(job(each.name) for each in found), is_one)


def _finder(options: argparse.Namespace, files: Files) -> Callable[[str], CheckSettings]:
    """The function that returns the settings of a folder."""
    from shardy_py.check import CheckSettings, SettingsFinder

    finder = SettingsFinder(lambda name: files.read_text(name).text)
    config: str | None = options.config
    if config is None and not options.isolated:
        return finder.of_folder
    settings = CheckSettings() if config is None else finder.in_file(config)
    return lambda folder: settings


def _flags(options: argparse.Namespace) -> Mapping[str, object]:
    """The settings that flags give, by their names."""
    from shardy_py.check import CheckSettings

    names = {each.name for each in fields(CheckSettings)} - {*_NOT_FLAGS}
    return {name: value for name, value in vars(options).items() if name in names and value not in (None, [])}


def _with_flags(settings: CheckSettings, flags: Mapping[str, object]) -> CheckSettings:
    changed = dict(flags)
    if is_mapping(levels := flags.get("levels")):
        changed["levels"] = {**settings.levels, **levels}
    if is_sequence(counts := flags.get("trip_counts")):
        changed["trip_counts"] = (*settings.trip_counts, *counts)
    if is_sequence(roots := flags.get("source_roots")):
        changed["source_roots"] = (*roots,)
    return replace(settings, **changed)
