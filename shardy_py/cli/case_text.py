"""Reads a sharding, a mesh and a shape as users write them on a command line.

Abbreviations of MLIR's syntax are expanded first: positions in errors refer to the expanded text. Not here:
the command (`view.py`), the syntax of sdy itself (`dialects/sdy/`).

>>> read_shape("8x16"), read_shape("tensor<8x16xf32>"), read_shape("scalar")
((8, 16), (8, 16), ())
>>> print(read_mesh_text('["x"=2]', Files()))
<["x"=2]>
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from shardy_py.cli.shell import Files, usage_error
from shardy_py.errors import ShardyError

if TYPE_CHECKING:
    from shardy_py.sharding import Mesh, TensorSharding
    from shardy_py.text.cursor import Cursor

Value = TypeVar("Value")

_MESH_HEAD = re.compile(r"\s*(?:sdy\.mesh\s+@[\w$.-]+\s*=\s*|#sdy\.mesh|mesh)?")
_SHARDING_HEAD = re.compile(r"\s*(?:#sdy\.sharding)?")
_SHAPE = re.compile(r"(?:tensor<)?((?:[0-9]+x)*)([0-9]+|[a-zA-Z][\w<>]*)\Z", re.ASCII)
_MOST = 2**63 - 1


def read_case(sharding_text: str, mesh_text: str | None, files: Files) -> tuple[TensorSharding, Mesh]:
    """A sharding and its mesh: `<@mesh, [{"x"}]>`, `<mesh<["x"=2]>, [{"x"}]>` or `[{"x"}]`; `["x"=2]`.

    Raises:
        ShardyError: a text is invalid, the axes do not fit the mesh, or there is no mesh; with its position.
    """
    from shardy_py.dialects.faults import Fault
    from shardy_py.dialects.sdy.syntax_sharding import read_sharding
    from shardy_py.dialects.sdy.verify_sharding import check_priorities_and_axes
    from shardy_py.sharding import Mesh

    text = sharding_text[_SHARDING_HEAD.match(sharding_text).end() :]  # pyright: ignore[reportOptionalMemberAccess]
    if text.startswith("["):
        text = f"<@mesh, {text}>"
    sharding = _read(text, "<sharding>", read_sharding, files)
    if isinstance(sharding.mesh, Mesh):
        if mesh_text is not None:
            raise usage_error("--mesh cannot be combined with a sharding that has an inlined mesh")
        mesh = sharding.mesh
    elif mesh_text is None:
        raise usage_error(f"the sharding refers to mesh @{sharding.mesh}: define it by --mesh")
    else:
        mesh = read_mesh_text(mesh_text, files)
    try:
        check_priorities_and_axes(sharding, mesh)
    except Fault as fault:
        raise ShardyError(f"sharding {sharding} on mesh {mesh}: {fault}") from None
    return sharding, mesh


def read_mesh_text(text: str, files: Files) -> Mesh:
    """A mesh: `<["x"=2]>`, `mesh<["x"=2]>`, `["x"=2]`, or a whole `sdy.mesh @mesh = <["x"=2]>`.

    Raises:
        ShardyError: it is none of these; with its position.
    """
    from shardy_py.dialects.sdy.syntax_sharding import read_mesh

    text = text[_MESH_HEAD.match(text).end() :]  # pyright: ignore[reportOptionalMemberAccess]
    return _read(f"<{text}>" if text.startswith("[") else text, "<mesh>", read_mesh, files)


def read_shape(text: str) -> tuple[int, ...]:
    """The sizes in `8x16`, `8x16xf32` or `tensor<8x16xf32>`; none in `scalar` or `f32`.

    Raises:
        ShardyError: it is none of these.
    """
    match = _SHAPE.match(text.strip())
    sizes = match[1].split("x")[:-1] if match else []
    if match and match[2].isdigit():
        sizes.append(match[2])
    if match is None or any(len(size) > 19 or int(size) > _MOST for size in sizes):
        raise ShardyError.unexpected("", expected="sizes like 8x16, or scalar", got=f"'{text}'")
    return tuple(map(int, sizes))


def _read(text: str, name: str, read: Callable[[Cursor], Value], files: Files) -> Value:
    from shardy_py.text.cursor import Cursor
    from shardy_py.text.deep_stack import deep_stack
    from shardy_py.text.source import Source

    files.texts[name] = text
    cursor = Cursor(Source(text, name))
    with deep_stack():
        value = read(cursor)
    if cursor.token:
        cursor.error("expected the end of the text")
    return value
