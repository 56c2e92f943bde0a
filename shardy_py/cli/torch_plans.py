"""`--mesh`, `--plan` and `--shardings`: programs that torch.export saved, under a plan of DTensor.

    sdy-check model.pt2 --mesh dp=2,tp=4 --plan plan.py:PLAN --shardings plan.py:INPUTS

Both name an object in a file of Python, which is run: what `plan` and `shardings` of `from_exported` take.
Not here: plans (`frontends/torch/plans.py`), archives (`frontends/torch/archives.py`).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import TYPE_CHECKING

from shardy_py.base.errors import ShardyError
from shardy_py.base.extensions import extension
from shardy_py.base.inputs.formats import TORCH_EXPORT, format_of
from shardy_py.base.plugins import call_of_user
from shardy_py.base.records import dataclass
from shardy_py.cli.arguments import mesh_of_sizes
from shardy_py.cli.shell import argument, usage_error

if TYPE_CHECKING:
    from shardy_py.api import Program
    from shardy_py.sharding import Mesh


@dataclass(frozen=True, slots=True)
class TorchPlan:
    """The mesh of an archive's program, and the names of its plan and shardings in files; None: none."""

    mesh: Mesh | None = None
    plan: str | None = None
    shardings: str | None = None


NO_PLAN = TorchPlan()

MESH = "Mesh of a .pt2 archive: dp=2,tp=4"
PLAN = "Plan of parallelize_module and fully_shard for a .pt2 archive: an object in a file of Python"
SHARDINGS = "Shardings or placements of its inputs and parameters, by name: an object in a file of Python"


def add_torch_plan(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    add = parser.add_argument
    add("--mesh", type=mesh_of_sizes, metavar="AXIS=SIZE,...", help=_lower(MESH))
    add("--plan", metavar="FILE:NAME", help=_lower(PLAN))
    add("--shardings", metavar="FILE:NAME", help=_lower(SHARDINGS))


def torch_plan_of(options: argparse.Namespace) -> TorchPlan:
    """Returns the plan of a command line."""
    return TorchPlan(options.mesh, options.plan, options.shardings)


def planned_program(content: str | bytes, file: str, wanted: TorchPlan) -> Program | None:
    """Returns the program of an archive under the plan of the command line; None without these flags.

    Raises:
        ShardyError: the input is not an archive, there is no mesh, or the plan does not fit the model.
    """
    given = {"--mesh": wanted.mesh, "--plan": wanted.plan, "--shardings": wanted.shardings}
    if all(value is None for value in given.values()):
        return None
    flag = next(flag for flag, value in given.items() if value is not None)
    if not isinstance(content, bytes) or format_of(content) != TORCH_EXPORT:
        raise usage_error(
            f"{flag} is for programs that torch.export.save wrote; others have their own meshes"
        )
    if wanted.mesh is None:
        raise usage_error(f"{flag} needs a mesh: --mesh dp=2,tp=4")
    plan, shardings = _object("--plan", wanted.plan), _object("--shardings", wanted.shardings)
    archives = extension("torch.archives")
    return archives.archived_program(content, file, wanted.mesh, shardings, plan)


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _object(flag: str, text: str | None) -> object:
    """The object that a file defines under a name; None for no text."""
    if text is None:
        return None
    file, _, name = text.rpartition(":")
    with argument(flag, text):
        spec = importlib.util.spec_from_file_location("_shardy_py_plan", file) if file else None
        if spec is None or spec.loader is None or not name.isidentifier():
            raise ShardyError.unexpected(
                "", expected="a file and a name in it: plan.py:PLAN", got=f"'{text}'"
            )
        try:
            open(file, "rb").close()
        except OSError as error:
            raise ShardyError.unopened(file, error) from None
        module = importlib.util.module_from_spec(spec)
        with _importing_beside(file):
            call_of_user(f"running {file}", spec.loader.exec_module, module)
        if not hasattr(module, name):
            raise ShardyError.unknown(f"name in {file}", name, _objects_in(module))
        return getattr(module, name)


@contextmanager
def _importing_beside(file: str) -> Generator[None]:
    """Within it, modules in the folder of a file are imported first, as when Python runs it."""
    folder = os.path.dirname(os.path.abspath(file))
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        with suppress(ValueError):  # the file may have removed it
            sys.path.remove(folder)


def _objects_in(module: ModuleType) -> list[str]:
    """The names of objects of a module that may be plans or shardings: no modules, classes or functions."""
    named = vars(module).items()
    return [
        n for n, value in named if not n.startswith("_") and not isinstance(value, (ModuleType, Callable))
    ]
