"""The metadata at the end of a file: `{-# dialect_resources: { builtin: { name: "0x..." } } #-}`.

The blobs that `dense_resource<name>` refers to are kept beside the module that they were read with and print
behind it. Resources of external tools are read over, as MLIR's own tool does.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region

from shardy_py.mlir.ir import set_location
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.sharding.spelling import keyword_or_string

Resources = dict[str, dict[str, str]]
"""Blobs as they are spelled, by dialect and name."""

_of_module: WeakKeyDictionary[Operation, Resources] = WeakKeyDictionary()


def whole_module(top: Block, location: Attribute, resources: Resources) -> ModuleOp:
    """Returns the only op of a file, if that is a module, else one around all, with the resources."""
    first = top.first_op
    if isinstance(first, ModuleOp) and first is top.last_op:
        first.detach()
        module = first
    else:
        module = ModuleOp(Region(top))
        set_location(module, location)
    if resources:
        _of_module[module] = resources
    return module


def read_file_metadata(cursor: Cursor, resources: Resources) -> None:
    """The whole of `{-# ... #-}`, its dialects' resources into `resources`."""
    cursor.advance()
    while not cursor.at("#-}"):
        offset = cursor.offset
        key = _key(cursor, "expected identifier key in file metadata dictionary")
        cursor.expect(":")
        if key == "dialect_resources":
            _read_groups(cursor, resources)
        elif key == "external_resources":
            _read_groups(cursor, {})
        else:
            cursor.error(f"unknown key '{key}' in file metadata dictionary", offset)
        if not cursor.accept(","):
            break
    cursor.expect("#-}")


def _key(cursor: Cursor, message: str) -> str:
    if cursor.token[:1] == '"':
        return cursor.string()
    if not cursor.is_identifier():
        cursor.wrong_token(message)
    return cursor.advance()


def _read_groups(cursor: Cursor, groups: Resources) -> None:
    def read_group() -> None:
        name = _key(cursor, "expected identifier key in file metadata dictionary")
        cursor.expect(":")
        entries = groups.setdefault(name, {})

        def read_entry() -> None:
            key = _key(cursor, "expected identifier key for resource entry")
            cursor.expect(":")
            if cursor.token[:1] != '"' and cursor.token not in ("true", "false"):
                cursor.error("expected string or boolean value for resource entry")
            entries[key] = cursor.advance()

        cursor.items(read_entry, "{", "}")

    cursor.items(read_group, "{", "}")


def resources_of(module: Operation) -> Resources:
    """The blobs that were read with a module."""
    return _of_module.get(module, {})


def resources_text(module: Operation, printed: str) -> str:
    """The metadata behind a module's text: the resources that the text mentions; empty if none."""
    groups: list[str] = []
    for dialect, entries in _of_module.get(module, {}).items():
        mentioned = sorted(
            name for name in entries if f"dense_resource<{keyword_or_string(name)}>" in printed
        )
        lines = [f"      {keyword_or_string(name)}: {entries[name]}" for name in mentioned]
        if lines:
            groups.append(f"    {keyword_or_string(dialect)}: {{\n" + ",\n".join(lines) + "\n    }")
    if not groups:
        return ""
    return "\n{-#\n  dialect_resources: {\n" + ",\n".join(groups) + "\n  }\n#-}\n"
