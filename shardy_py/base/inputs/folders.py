"""The file that a folder stands for: of dumps, the one from which compilation began.

| folder | files | taken |
|---|---|---|
| of `--xla_dump_to` | `module_0003.jit_f/module.mlir`, `module_0003.jit_f.STAGE.txt` | the largest module |
| of snapshots | `module_0003.jit_f.execution_0000.hlo_unoptimized_snapshot.pb` | that of the largest module |
| of one module in it | `module.mlir`, `compile_options.pb` | `module.mlir` |
| of Shardy's stages | `03.after_propagation.mlir` | the first one |
| of folders of Shardy's stages | `module_0003.jit_f/00.input_module.mlir` | that of the largest first stage |
| any other | one program | that |

Of a module: as it was given to XLA, else before optimizations, else its first stage; text before `.hlo.pb`.

Not here: what the file holds (`formats.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from shardy_py.base.errors import ShardyError, WholeFile
from shardy_py.base.patterns import on_use
from shardy_py.base.records import dataclass

_MOST_FILES = 200_000
_MOST_SHOWN = 4
_MODULE = on_use(
    r"(?:\d+\.)?(module_(\d+)\.(.+?))\.(before_optimizations|(?:sm_\d+\.\w+_)?[^.]*after_optimizations|\d{4}\..+?"
    r"|execution_\d{4})\Z"
)
_MODULE_FOLDER = on_use(r"module_(\d+)\.(.+)\Z")
_GIVEN = "module.mlir"
"""The program as it was given to XLA, in a folder of its module."""
_STAGE = on_use(r"(\d+)\.(.+)\.mlir\Z")
_SUFFIXES = (".txt", ".hlo", ".hlo.pb", ".hlo_unoptimized_snapshot.pb", ".hlo_snapshot.pb", ".pb", ".pbtxt")
_GZIP = ".gz"
_PROGRAMS = (".mlir", ".mlirbc", ".hlo", ".hlo.pb", ".pb", ".pbtxt", ".pt2", ".gz")
_ORDER = ("given", "before_optimizations")


@dataclass(frozen=True, slots=True)
class _Dump:
    """A dumped module: its name, the stage, and the file."""

    module: str
    stage: str
    file: Path

    @property
    def rank(self) -> tuple[int, str, int]:
        """The order of the stages of a module; of equal ones, text before protocol buffers."""
        known = _ORDER.index(self.stage) if self.stage in _ORDER else len(_ORDER)
        is_last = self.stage.endswith("after_optimizations")
        return known + is_last, self.stage, not self.file.name.endswith((".txt", ".hlo"))


def chosen_file(folder: str) -> tuple[str, str]:
    """Returns the file that a folder stands for, and a remark that names it.

    Raises:
        ShardyError: there is none, or it is not clear which.
        OSError: the folder cannot be read.
    """
    files, folders = _listed(folder)
    if dumps := [*_dumps(files), *_given(folders)]:
        return _of_xla(dumps)
    if stages := _stages(files):
        first, last = stages[0][1], stages[-1][1]
        others = f", the first of {len(stages)} stages up to {last.name}" if len(stages) > 1 else ""
        return str(first), f"read {first.name}{others}"
    given = next((file for file in files if file.name == _GIVEN), None)
    if given is not None:
        return str(given), f"read {given.name}"
    if modules := _staged(folders):
        chosen = max(modules, key=lambda file: (file.stat().st_size, file.parent.name))
        others = f", the largest of {len(modules)} modules" if len(modules) > 1 else ""
        return str(chosen), f"read {chosen.name} of {chosen.parent.name}{others}"
    programs = [file for file in files if file.name.endswith(_PROGRAMS)]
    if len(programs) == 1:
        return str(programs[0]), f"read {programs[0].name}, the only program"
    expected = "a file, or a folder that XLA or Shardy dumped"
    got = f"a folder with {len(programs)} programs" if programs else "a folder without programs"
    listed = _names(programs or files)
    remedy = f"pass one of its files: {listed}" if files else "pass a file"
    raise ShardyError.unexpected("", expected=expected, got=got, remedy=remedy, where=WholeFile(folder))


def programs_below(folder: str) -> list[str]:
    """Returns the programs of a folder and of those in it, by their suffixes, in order.

    A folder that XLA or Shardy dumped is one program. Hidden folders, environments of Python and links to
    folders are left out.

    Raises:
        OSError: a folder cannot be read.
    """
    files, folders = _listed(folder)
    if [*_dumps(files), *_given(folders)] or any(map(_STAGE.match, (file.name for file in files))):
        return [folder]
    found = [str(file) for file in files if _is_program(file.name)]
    inner = (each for each in folders if not _is_skipped(each))
    return sorted((*found, *(program for each in inner for program in programs_below(str(each)))))


def _is_program(name: str) -> bool:
    return not name.startswith(".") and name.removesuffix(".gz").endswith(_PROGRAMS[:-1])


def _is_skipped(folder: Path) -> bool:
    is_tool = folder.name.startswith(".") or folder.name in ("__pycache__", "node_modules")
    return is_tool or folder.is_symlink() or (folder / "pyvenv.cfg").exists()


def _listed(folder: str) -> tuple[list[Path], list[Path]]:
    """The regular files of a folder, and the folders in it, by name."""
    files: list[Path] = []
    folders: list[Path] = []
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_FILES):
            if entry.is_file():
                files.append(Path(entry.path))
            elif entry.is_dir():
                folders.append(Path(entry.path))
    return sorted(files), sorted(folders)


def _dumps(files: Iterable[Path]) -> list[_Dump]:
    found: list[_Dump] = []
    for file in files:
        name = file.name.removesuffix(_GZIP)
        stem = next((name.removesuffix(end) for end in _SUFFIXES if name.endswith(end)), "")
        stem = stem.removesuffix(".hlo")
        if match := _MODULE.match(stem):
            found.append(_Dump(match[1], match[4], file))
    return found


def _given(folders: Iterable[Path]) -> list[_Dump]:
    return [
        _Dump(folder.name, "given", folder / _GIVEN)
        for folder in folders
        if _MODULE_FOLDER.match(folder.name) and (folder / _GIVEN).is_file()
    ]


def last_stage(folder: str, name: str = "") -> tuple[str, str] | None:
    """Returns the file of the last stage of a module that XLA dumped, and a remark; None without a dump.

    name: of the module, if the folder has one of it; else the largest is taken, by its first stage.

    Raises:
        OSError: the folder cannot be read.
    """
    files, folders = _listed(folder)
    dumps = [*_dumps(files), *_given(folders)]
    named = [dump for dump in dumps if _MODULE_FOLDER.sub(r"\2", dump.module) == name]
    if not _dumps(files):
        return None
    first, remark = _of_xla(named if any(dump.stage != "given" for dump in named) else dumps)
    module = next(dump.module for dump in dumps if str(dump.file) == first)
    last = max((dump for dump in dumps if dump.module == module), key=_lateness)
    return str(last.file), remark.replace(Path(first).name, last.file.name, 1)


def _lateness(dump: _Dump) -> tuple[int, str, int]:
    """The order of stages, for the last one; of equal ones text is later than protocol buffers."""
    rank, stage, is_binary = dump.rank
    return rank, stage, -is_binary


def _of_xla(dumps: list[_Dump]) -> tuple[str, str]:
    """The first stage of the module whose first stage is largest."""
    first = {dump.module: dump for dump in sorted(dumps, key=lambda dump: dump.rank, reverse=True)}
    chosen = max(first.values(), key=lambda dump: (dump.file.stat().st_size, dump.module))
    others = sorted(name for name in first if name != chosen.module)
    listed = ", ".join(others[:_MOST_SHOWN])
    more = f" and {len(others) - _MOST_SHOWN} more" if len(others) > _MOST_SHOWN else ""
    remark = f"read {chosen.file.name} of {chosen.module}" if chosen.stage == "given" else ""
    remark = remark or f"read {chosen.file.name}"
    if others:
        remark += f", the largest of {len(first)} modules; pass a file of another: {listed}{more}"
    return str(chosen.file), remark


def _stages(files: Iterable[Path]) -> list[tuple[int, Path]]:
    return sorted((int(match[1]), file) for file in files if (match := _STAGE.match(file.name)))


def _staged(folders: Iterable[Path]) -> list[Path]:
    """The first stage of each folder of a module that has stages of Shardy."""
    modules = (folder for folder in folders if _MODULE_FOLDER.match(folder.name))
    found = (_stages(_listed(str(folder))[0]) for folder in modules)
    return [stages[0][1] for stages in found if stages]


def _names(files: list[Path]) -> str:
    more = f" and {len(files) - _MOST_SHOWN} more" if len(files) > _MOST_SHOWN else ""
    return ", ".join(file.name[:80] for file in files[:_MOST_SHOWN]) + more
