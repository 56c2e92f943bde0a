"""The text of attributes and types, as MLIR's printer gives it; memoised by identity.

Dialects' attributes print through the syntax table that `use_syntax` was given; the table is one for the
process (`mlir/dialects/registry.py` makes it), so that the memo can be too.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xdsl.dialects import builtin
from xdsl.ir import Attribute

from shardy_py.base.session import SESSION, Identities
from shardy_py.mlir.text.affine import map_text, set_text, strided_text
from shardy_py.mlir.text.builtin_attributes import is_integer, is_integer_attribute
from shardy_py.mlir.text.dense import dense_text, element_printer, element_size
from shardy_py.mlir.text.float_formats import FORMATS, float_text
from shardy_py.mlir.text.location_syntax import LOCATIONS, location_body
from shardy_py.mlir.text.naming import AliasTable, Entry, alias_base
from shardy_py.mlir.text.syntax import AttributeWriter, SyntaxTable
from shardy_py.sharding.spelling import keyword_or_string, string_literal, symbol_text

if TYPE_CHECKING:
    from xdsl.dialects.complex import ComplexNumberAttr

_SIGNS = {"SIGNLESS": "i", "SIGNED": "si", "UNSIGNED": "ui"}

_memo: Identities[str] = SESSION.identities("attribute texts")
_syntax: SyntaxTable | None = None
_aliases: AliasTable | None = None
_mentioned: list[list[Entry]] = []


def use_syntax(syntax: SyntaxTable) -> None:
    """Makes `syntax` the table that dialects' attributes print through."""
    global _syntax
    _syntax = syntax
    _memo.clear()


@contextmanager
def use_aliases(aliases: AliasTable) -> Generator[None]:
    """Collects aliases in a table while the context lasts, or prints those that it has given."""
    global _aliases
    before, _aliases = _aliases, aliases
    try:
        yield
    finally:
        _aliases = before


def attribute_text(attribute: Attribute) -> str:
    """The text of an attribute or type."""
    hit = _memo.get(id(attribute))
    if hit is not None:
        return hit[0]
    return _new_text(attribute)


def _new_text(attribute: Attribute) -> str:
    """The text of what is not in the memo; what mentions an alias never gets there."""
    entry = _aliases.find(attribute) if _aliases is not None else None
    if entry is None:
        _mentioned.append([])
        try:
            text = spelled_out(attribute)
        finally:
            children = _mentioned.pop()
        if not children and not alias_base(attribute):
            return _memo.remember(attribute, text)
        entry = _aliases.record(attribute, text, children) if _aliases is not None else None
        if entry is None:
            entry = Entry(attribute, "", 1, children, is_deferrable=False, text=text)
    if _mentioned:
        _mentioned[-1].append(entry)
    return entry.alias or entry.text


type_text = attribute_text


def dictionary_entries(entries: Mapping[str, Attribute]) -> str:
    """`a = 1 : i64, b`: the entries of a dictionary, sorted by name."""
    return ", ".join(
        keyword_or_string(name)
        if isinstance(entries[name], builtin.UnitAttr)
        else f"{keyword_or_string(name)} = {attribute_text(entries[name])}"
        for name in sorted(entries)
    )


def function_type_text(inputs: list[str], outputs: list[str]) -> str:
    """`(a, b) -> c`."""
    single = len(outputs) == 1 and not outputs[0].startswith("(")
    return f"({', '.join(inputs)}) -> {outputs[0] if single else '(' + ', '.join(outputs) + ')'}"


def untyped_text(attribute: Attribute) -> str:
    """The text of an attribute without the type behind it: `5` for `5 : i64`."""
    writer = _UNTYPED_WRITERS.get(attribute.__class__)
    return attribute_text(attribute) if writer is None else writer(attribute)


def _float_value(attribute: builtin.FloatAttr) -> str:
    name = attribute.type.name
    form = FORMATS[name]
    return float_text(form.encode(attribute.value.data).to_bytes(form.size, "little"), name)


def _complex_number(attribute: ComplexNumberAttr) -> str:
    element = attribute.type.element_type
    form = FORMATS[element.name]
    parts = (
        form.encode(part.data).to_bytes(form.size, "little") for part in (attribute.real, attribute.imag)
    )
    numbers = ", ".join(float_text(part, element.name) for part in parts)
    return f"#{attribute.name}<:{element.name} {numbers}>"


def spelled_out(attribute: Attribute) -> str:
    """The text of an attribute without an alias for itself."""
    writer = _WRITERS.get(type(attribute))
    if writer is not None:
        return writer(attribute)
    if _syntax is not None and (found := _syntax.prefix_and_syntax(type(attribute))) is not None:
        prefix, syntax, suffix = found
        return f"{prefix}{syntax.write(attribute)}{suffix}"
    for base, write in _BASES:
        if isinstance(attribute, base):
            return write(attribute)
    return str(attribute)


def _of_other_classes(attribute: Attribute) -> str:
    if attribute.name in FORMATS:
        return attribute.name
    writer = _NAMED_WRITERS.get(attribute.name)
    return str(attribute) if writer is None else writer(attribute)


def _element_text(attribute: Attribute) -> str:
    """The text of an attribute in an array, where i64 and f64 go without saying."""
    writer = _NUMBER_WRITERS.get(attribute.__class__)
    if writer is not None and getattr(attribute, "type", None) in (builtin.i64, builtin.f64):
        return writer(attribute)
    return attribute_text(attribute)


def _integer_value(attribute: builtin.IntegerAttr) -> str:
    type_ = attribute.type
    value = attribute.value.data
    if is_integer(type_) and type_.width.data == 1 and type_.signedness.data.name == "SIGNLESS":
        return "true" if value else "false"
    return str(value)


def _integer(attribute: builtin.IntegerAttr) -> str:
    text = _integer_value(attribute)
    return text if text in ("true", "false") else f"{text} : {attribute_text(attribute.type)}"


def _dense_array(attribute: builtin.DenseArrayBase) -> str:
    element = attribute.elt_type
    name = attribute_text(element)
    data = attribute.data.data
    if not data:
        return f"array<{name}>"
    size, show = element_size(element), element_printer(element)
    values = [show(data[start : start + size]) for start in range(0, len(data), size)]
    return f"array<{name}: {', '.join(values)}>"


def _sizes(sizes: Sequence[int]) -> str:
    return "".join(["?x" if size == builtin.DYNAMIC_INDEX else f"{size}x" for size in sizes])


def _behind_comma(attribute: Attribute) -> str:
    return "" if isinstance(attribute, builtin.NoneAttr) else f", {attribute_text(attribute)}"


def _tensor(attribute: builtin.TensorType[Attribute]) -> str:
    encoding = _behind_comma(attribute.encoding)
    return f"tensor<{_sizes(attribute.get_shape())}{attribute_text(attribute.element_type)}{encoding}>"


def _vector(attribute: builtin.VectorType[Attribute]) -> str:
    scales = [bool(flag.value.data) for flag in attribute.scalable_dims.data]
    sizes = [f"[{n}]x" if s else f"{n}x" for n, s in zip(attribute.get_shape(), scales, strict=True)]
    return f"vector<{''.join(sizes)}{attribute_text(attribute.element_type)}>"


def _memref(attribute: builtin.MemRefType[Attribute] | builtin.UnrankedMemRefType[Attribute]) -> str:
    sizes, layout = "*x", ""
    if isinstance(attribute, builtin.MemRefType):
        sizes, layout = _sizes(attribute.get_shape()), _behind_comma(attribute.layout)
    space = attribute.memory_space
    if is_integer_attribute(space) and space.type == builtin.i64:
        tail = f", {_integer_value(space)}"
    else:
        tail = _behind_comma(space)
    return f"memref<{sizes}{attribute_text(attribute.element_type)}{layout}{tail}>"


def _function(attribute: builtin.FunctionType) -> str:
    return function_type_text(
        [attribute_text(t) for t in attribute.inputs], [attribute_text(t) for t in attribute.outputs]
    )


def _symbol(attribute: builtin.SymbolRefAttr) -> str:
    return "::".join(
        symbol_text(name.data) for name in (attribute.root_reference, *attribute.nested_references.data)
    )


def _unregistered(attribute: builtin.UnregisteredAttr) -> str:
    prefix = "!" if attribute.is_type.data else "#"
    body = f"<{attribute.value.data}>" if attribute.value.data else ""
    return f"{prefix}{attribute.attr_name.data}{body}"


def _typed(show: AttributeWriter) -> AttributeWriter:
    return lambda attribute: f"{show(attribute)} : {attribute_text(attribute.type)}"


_NUMBER_WRITERS: dict[type[Attribute], AttributeWriter] = {
    builtin.IntegerAttr: _integer_value,
    builtin.FloatAttr: _float_value,
}
_UNTYPED_WRITERS: dict[type[Attribute], AttributeWriter] = {
    **_NUMBER_WRITERS,
    builtin.DenseIntOrFPElementsAttr: dense_text,
}
_WRITERS: dict[type[Attribute], AttributeWriter] = {
    builtin.StringAttr: lambda a: string_literal(a.data),
    builtin.IntegerAttr: _integer,
    builtin.FloatAttr: _typed(untyped_text),
    builtin.UnitAttr: lambda a: "unit",
    builtin.ArrayAttr: lambda a: f"[{', '.join(map(_element_text, a.data))}]",
    builtin.DictionaryAttr: lambda a: f"{{{dictionary_entries(a.data)}}}",
    builtin.SymbolRefAttr: _symbol,
    builtin.DenseArrayBase: _dense_array,
    builtin.DenseIntOrFPElementsAttr: _typed(dense_text),
    builtin.DenseResourceAttr: _typed(
        lambda a: f"dense_resource<{keyword_or_string(a.resource_handle.data)}>"
    ),
    builtin.AffineMapAttr: lambda a: f"affine_map<{map_text(a.data)}>",
    builtin.AffineSetAttr: lambda a: f"affine_set<{set_text(a.data)}>",
    builtin.StridedLayoutAttr: lambda a: strided_text(a.get_strides(), a.get_offset()),
    builtin.OpaqueAttr: str,
    builtin.IntegerType: lambda a: f"{_SIGNS[a.signedness.data.name]}{a.width.data}",
    builtin.IndexType: lambda a: "index",
    builtin.NoneType: lambda a: "none",
    builtin.TensorType: _tensor,
    builtin.VectorType: _vector,
    builtin.UnrankedTensorType: lambda a: f"tensor<*x{attribute_text(a.element_type)}>",
    builtin.ComplexType: lambda a: f"complex<{attribute_text(a.element_type)}>",
    builtin.TupleType: lambda a: f"tuple<{', '.join(map(attribute_text, a.types))}>",
    builtin.FunctionType: _function,
    builtin.MemRefType: _memref,
    builtin.UnrankedMemRefType: _memref,
}
_WRITERS.update(dict.fromkeys(LOCATIONS, lambda a: f"loc({location_body(a)})"))
_NAMED_WRITERS: dict[str, AttributeWriter] = {"complex.number": _typed(_complex_number)}
"""Writers for classes in dialects of xDSL that are imported when a program has one."""
_BASES: tuple[tuple[type, AttributeWriter], ...] = (
    (builtin.UnregisteredAttr, _unregistered),
    (Attribute, _of_other_classes),
)
