"""The declaration of an op's class as Python, from its row: parameters, annotations, source.

    class IotaOp(DialectOp):
        output: OpResult
        def __init__(self, *, dimension: IntegerAttr[IntegerType] | int, ...) -> None: ...

`docs/declarations.py` writes them to the modules `op_classes.py` of the dialects, which type checkers and
editors read, and `inspect.getsource` shows; the classes have the same signature and annotations at run time.

Not here: the classes (`definition.py`), what constructors do (`construction.py`).
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from importlib.util import LazyLoader, find_spec, module_from_spec
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, SupportsIndex

if TYPE_CHECKING:
    from shardy_py.mlir.dialects.definition import OpRow, Slot
    from shardy_py.mlir.dialects.kinds import AttributeKind, TypeKind

VALUE = "SSAValue | Operation"


def summary(row: OpRow, dialect: str) -> str:
    """The docstring of the class in its declaration."""
    return f"`{dialect}.{row.name}`."


def docstring(row: OpRow, dialect: str) -> str:
    """The docstring of the class, which says what each operand, attribute, region and result is."""
    lines = [summary(row, dialect), ""]
    for what, slots in (("operand", row.operands), ("attribute", row.attributes), ("result", row.results)):
        for slot in slots:
            several = "any number of: " if slot.many else "optional: " if slot.optional else ""
            lines.append(f"{slot.accessor} ({what}): {several}{slot.kind.description}")
    lines += (f"{slot.accessor} (region)" for slot in row.regions)
    return "\n".join(lines)


def field_types(row: OpRow) -> dict[str, str]:
    """The annotations of the class: its operands, attributes, results and regions."""
    found = {slot.accessor: _many(slot, "SSAValue") for slot in row.operands}
    for slot in row.attributes:
        found[slot.accessor] = slot.kind.encoding.annotation + " | None" * slot.optional
    found |= {slot.accessor: _many(slot, "OpResult") for slot in row.results}
    return found | {slot.accessor: _many(slot, "Region") for slot in row.regions}


def signature(row: OpRow) -> Signature:
    """The signature of the constructor, without `self`."""
    kinds = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    operands = [Parameter(s.accessor, kinds[0], annotation=_many(s, VALUE)) for s in row.operands]
    keywords = [_keyword(slot) for slot in row.attributes]
    keywords += (Parameter(s.accessor, kinds[1], annotation=_many(s, "Region")) for s in row.regions)
    if row.results:
        is_nested = sum(slot.many for slot in row.results) > 1
        types = "Sequence[Sequence[Attribute]]" if is_nested else "Sequence[Attribute]"
        keywords.append(_named("result_types", types, is_optional=row.infer is not None))
    keywords.append(_named("attributes", "Mapping[str, Attribute]", is_optional=True))
    return Signature([*operands, *keywords], return_annotation="None")


def _keyword(slot: Slot[AttributeKind]) -> Parameter:
    encoding = slot.kind.encoding
    values = f"{encoding.annotation} | {encoding.values}" if encoding.values else encoding.annotation
    return _named(slot.accessor, values, is_optional=slot.optional)


def _named(name: str, annotation: str, *, is_optional: bool) -> Parameter:
    if not is_optional:
        return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation)
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=f"{annotation} | None", default=None)


def _many(slot: Slot[TypeKind] | Slot[None], type_: str) -> str:
    return f"Sequence[{type_}]" if slot.many else type_


def source(row: OpRow, dialect: str) -> Iterator[str]:
    """The lines of the class's declaration."""
    yield f"class {row.class_name}({'DialectOp' if row.form is None else 'PrettyOp'}):"
    yield f'    """{summary(row, dialect)}"""'
    yield ""
    yield from (f"    {name}: {annotation}" for name, annotation in field_types(row).items())
    yield ""
    yield "    def __init__("
    parameters = signature(row).parameters.values()
    is_named = False
    yield "        self,"
    for parameter in parameters:
        if parameter.kind is Parameter.KEYWORD_ONLY and not is_named:
            is_named = True
            yield "        *,"
        default = " = None" if parameter.default is None else ""
        yield f"        {parameter.name}: {parameter.annotation}{default},"
    yield "    ) -> None: ..."


class RowSignature:
    """The attribute `__signature__` of a class, made when it is asked for; subclasses have their own."""

    def __init__(self, row: OpRow) -> None:
        self.row = row
        self.owner: type | None = None

    def __get__(self, instance: object, owner: type) -> Signature:
        if owner is not self.owner:
            raise AttributeError("__signature__")
        return signature(self.row)


class FirstLine:
    """The attribute `__firstlineno__` of a class, from which `inspect` subtracts 1: since Python 3.13."""

    def __init__(self, module: str, class_name: str) -> None:
        self.module, self.class_name = module, class_name

    def __sub__(self, other: SupportsIndex) -> int:
        lines = linecache.getlines(str(sys.modules[self.module].__file__))
        start = f"class {self.class_name}("
        return next(n for n, line in enumerate(lines, 1) if line.lstrip().startswith(start)) - int(other)


def declare(made: type, row: OpRow, dialect: str) -> None:
    """Gives a class made from a row what `inspect`, editors and `help` read."""
    module = module_of(dialect)
    made.__module__ = module
    made.__doc__ = docstring(row, dialect)
    made.__annotations__ = field_types(row)
    shown: Any = RowSignature(row)
    shown.owner = made
    class_ = made
    class_.__signature__ = shown
    if sys.version_info >= (3, 13):
        class_.__firstlineno__ = FirstLine(module, row.class_name)
    _load_lazily(module)


def module_of(dialect: str) -> str:
    """The module that declares the classes of a dialect's ops."""
    return f"{__package__}.{_MODULES.get(dialect, 'demo')}"


_MODULES = {
    "stablehlo": "stablehlo.op_classes",
    "chlo": "chlo.op_classes",
    "check": "check_op_classes",
    "interpreter": "interpreter_op_classes",
}


def _load_lazily(name: str) -> None:
    """Makes a module known, which is run when one of its attributes is asked for."""
    if name in sys.modules or (spec := find_spec(name)) is None or spec.loader is None:
        return
    spec.loader = LazyLoader(spec.loader)
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    package, _, stem = name.rpartition(".")
    setattr(sys.modules[package], stem, module)
