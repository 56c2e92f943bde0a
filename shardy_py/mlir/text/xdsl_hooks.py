"""The base classes of this package's ops and attributes, with the hooks of xDSL's parser, printer, verifier.

All hooks go through the syntax table: xDSL's own tools read, print and verify our dialects as `sdy-opt` does.

Not here: the readers and writers behind the hooks (`xdsl_bridge.py`, imported when a hook is called).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, get_args

from typing_extensions import override
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.irdl.attributes import check_attr_name
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.runtime_final import runtime_final

from shardy_py.base.annotations import fits, shown, spelled
from shardy_py.base.errors import InternalError
from shardy_py.mlir.ir import LOCATION_OF_PLACE, make_room
from shardy_py.mlir.text.syntax import AttributeSyntax, syntax_table
from shardy_py.mlir.typed import of_kind

if TYPE_CHECKING:
    from xdsl.parser import AttrParser, Parser
    from xdsl.printer import Printer

T = TypeVar("T")
OpT = TypeVar("OpT", bound=IRDLOperation)


class DialectOp(IRDLOperation):
    """An op that prints in generic form only."""

    if not TYPE_CHECKING:
        location = LOCATION_OF_PLACE


class PrettyOp(DialectOp):
    """An op with an assembly form."""

    @classmethod
    @override
    def parse(cls, parser: Parser) -> Self:
        from shardy_py.mlir.text.xdsl_bridge import parse_op

        return parse_op(cls, parser)

    @override
    def print(self, printer: Printer) -> None:
        from shardy_py.mlir.text.xdsl_bridge import print_op

        print_op(self, printer)


def define_op(op_class: type[OpT]) -> type[OpT]:
    """The decorator of op classes: `irdl_op_definition`, and the dialect's verifier before IRDL's.

    The verifiers of the dialects have MLIR's messages; those of IRDL would hide them.
    """
    defined = irdl_op_definition(op_class)
    make_room(defined)
    declared = defined.verify_

    def verify_(self: OpT) -> None:
        syntax_table().verify(self)
        declared(self)

    defined.verify_ = verify_
    return defined


_CLASSES: dict[type, type[Attribute]] = {}
"""The attribute's class of each class of values."""


def define_attribute(cls: type[Attribute]) -> None:
    """Makes a class around a value the definition of an attribute, as xDSL's `irdl_attr_definition` does.

    That also asks each class of an attribute with parameters whether it is a base of this one.
    """
    check_attr_name(cls)
    runtime_final(cls)


class DialectAttribute(Data[T]):
    """An attribute around a frozen value."""

    value_type: ClassVar[Any] = Any
    """The annotation of the value."""

    def __init_subclass__(cls, **rest: object) -> None:
        super().__init_subclass__(**rest)
        bases = vars(cls).get("__orig_bases__", ())
        given = [type_ for base in bases for type_ in get_args(base) if not isinstance(type_, TypeVar)]
        if given:
            cls.value_type = given[0]
            if isinstance(given[0], type):
                _CLASSES[given[0]] = cls

    @property
    def parameters(self) -> tuple[Attribute, ...]:
        """The fields of the value as attributes, which `ParamAttrConstraint` and patterns match."""
        from shardy_py.mlir.text.parameters import parameters_of

        return parameters_of(self.data, _CLASSES)

    @override
    def verify(self) -> None:
        """Raises `VerifyException` for a value of another type."""
        if type(self.data) is not self.value_type and not fits(self.data, self.value_type):
            expected, got = spelled(self.value_type), shown(self.data)
            raise VerifyException(f"{self.name}: expected {expected}, got {got}")

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> T:
        from shardy_py.mlir.text.xdsl_bridge import parse_attribute

        return of_kind(parse_attribute(_syntax_of(cls), parser), cls).data

    @override
    def print_parameter(self, printer: Printer) -> None:
        text = _syntax_of(type(self)).write(self)
        is_spaced = isinstance(self, SpacedOpaqueSyntaxAttribute)  # xDSL itself prints the space
        printer.print_string(text.removeprefix(" ") if is_spaced else text)

    def plain(self) -> object:
        """The value."""
        return self.data


class DialectType(ParametrizedAttribute, TypeAttribute):
    """A type, with or without parameters."""

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        from shardy_py.mlir.text.xdsl_bridge import parse_attribute

        return of_kind(parse_attribute(_syntax_of(cls), parser), ParametrizedAttribute).parameters

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(_syntax_of(type(self)).write(self))


def _syntax_of(attribute_class: type) -> AttributeSyntax:
    found = syntax_table().prefix_and_syntax(attribute_class)
    if found is None:
        raise InternalError(f"no dialect has a syntax for {attribute_class.__name__}")
    return found[1]
