"""The resources of a bytecode file: blobs, strings and booleans that attributes refer to by name.

They are kept beside the module as in text (`mlir/text/resources.py`). Those of external tools are passed
over.
"""

from __future__ import annotations

from shardy_py.mlir.bytecode.encoding import ByteCursor
from shardy_py.mlir.bytecode.sections import BytecodeFile, Section
from shardy_py.mlir.text.resources import Resources
from shardy_py.sharding.spelling import string_literal


def read_resources(file: BytecodeFile) -> tuple[Resources, list[str]]:
    """Returns the resources of dialects as text spells them, and the names by number.

    Raises:
        ShardyError: they are damaged.
    """
    sizes, values = (file.sections.get(kind) for kind in (Section.RESOURCE_SIZES, Section.RESOURCES))
    found: Resources = {}
    handles: list[str] = []
    if sizes is None or values is None:
        if sizes is not values:
            (sizes or values or file.ir).fail("expected both sections of resources, or none")
        return found, handles
    for _ in range(sizes.count("groups of resources")):
        file.string(sizes)
        _read_group(file, sizes, values, {}, [])
    while not sizes.is_at_end:
        group = found.setdefault(file.dialect(sizes), {})
        _read_group(file, sizes, values, group, handles)
    return found, handles


def _read_group(
    file: BytecodeFile, sizes: ByteCursor, values: ByteCursor, group: dict[str, str], handles: list[str]
) -> None:
    for _ in range(sizes.count("resources")):
        key = file.string(sizes)
        size, kind = sizes.varint(), sizes.byte()
        value = values.part(size, "a resource")
        handles.append(key)
        if not value.is_at_end:  # else it is declared only
            group[key] = _text(file, value, kind)
            value.expect_end("the resource")


def _text(file: BytecodeFile, value: ByteCursor, kind: int) -> str:
    match kind:
        case 0:
            alignment, size = value.varint(), value.varint()
            value.align(alignment)
            head = (alignment % (1 << 32)).to_bytes(4, "little")
            return f'"0x{(head + value.take(size)).hex().upper()}"'
        case 1:
            return "true" if value.byte() else "false"
        case 2:
            return string_literal(file.string(value))
        case _:
            return value.fail(f"unknown kind of resource: {kind}")
