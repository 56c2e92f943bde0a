"""`dataclass` as in `dataclasses`, but the methods of a class are compiled when they are first used.

The standard decorator compiles six methods for each class, which takes half a millisecond; a command imports
hundreds of classes and uses few of their methods. Fields, `replace`, `fields`, matching, copies and pickles
are those of the standard library.

>>> @dataclass(frozen=True, slots=True)
... class Point:
...     x: int
...     y: int = 0
>>> Point(1), Point(1) == Point(1, 0), replace(Point(1), y=2)
(Point(x=1, y=0), True, Point(x=1, y=2))

Not here: classes that are ordered (the standard decorator), tables with rows (`rows.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, fields, is_dataclass, replace
from dataclasses import dataclass as _standard
from reprlib import recursive_repr
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(class_=None, /, *, init=True, repr=True, eq=True, frozen=False, kw_only=False, slots=False):
        """Makes a dataclass of a class; its own methods stay, as with the standard decorator."""
        compiled = ["__init__"] * init + ["__repr__"] * repr + ["__eq__"] * eq
        if class_ is None:
            return lambda each: _made(each, compiled, frozen, kw_only, slots)
        return _made(class_, compiled, frozen, kw_only, slots)


__all__ = ["dataclass", "replace"]


class _Factory:
    """Stands for the argument of a field whose default a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_NOT_GIVEN = _Factory()
Writer = Callable[[type], FunctionType]
"""Compiles a method of a class."""


class MethodOnUse:
    """A method that is compiled when it is looked up, and then takes this object's place in its class."""

    __slots__ = ("owner", "write")

    def __init__(self, owner: type, write: Writer) -> None:
        self.owner, self.write = owner, write

    def __get__(self, instance: object, owner: type | None = None) -> object:
        method = self.write(self.owner)
        name = method.__name__
        method.__qualname__, method.__module__ = f"{self.owner.__qualname__}.{name}", self.owner.__module__
        setattr(self.owner, name, method)
        return method.__get__(instance, owner)


def _made(
    class_: type[object], compiled: Sequence[str], is_frozen: bool, kw_only: bool, has_slots: bool
) -> type:
    own = vars(class_)
    # A class that inherits fields is checked against its bases by the standard decorator.
    inherits = any(is_dataclass(base) for base in class_.__mro__[1:])
    decorate = _standard(
        init=False, repr=False, eq=False, frozen=is_frozen and inherits, slots=has_slots, kw_only=kw_only
    )
    made = decorate(class_)  # with slots, a class of its own
    for name in compiled:
        if name not in own:
            setattr(made, name, MethodOnUse(made, _WRITERS[name]))
    if "__eq__" in compiled:
        if is_frozen and own.get("__hash__") is None:
            setattr(made, "__hash__", MethodOnUse(made, _hasher))  # noqa: B010 - a type checker refuses it
        elif "__hash__" not in own:
            setattr(made, "__hash__", None)  # noqa: B010
    if is_frozen and not inherits:
        _freeze(made, has_slots)
    return made


def _freeze(made: type, has_slots: bool) -> None:
    made.__dataclass_params__.frozen = True  # pyright: ignore
    methods = {"__setattr__": _set, "__delattr__": _delete}
    if has_slots:
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    for name, method in methods.items():
        setattr(made, name, method)


def _is_fixed(instance: object, name: str) -> bool:
    """True unless a subclass that is no dataclass has an attribute of its own."""
    own = vars(type(instance))
    return "__dataclass_fields__" in own or name in getattr(instance, "__dataclass_fields__", ())


def _set(self: object, name: str, value: object) -> None:
    if _is_fixed(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delete(self: object, name: str) -> None:
    if _is_fixed(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _fields(owner: object) -> tuple[Field[object], ...]:
    return fields(owner)  # pyright: ignore[reportArgumentType]


def _state(self: object) -> list[object]:
    return [getattr(self, field.name) for field in _fields(self)]


def _restore(self: object, state: Sequence[object]) -> None:
    for field, value in zip(_fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def _compiled(
    name: str, arguments: Sequence[str], lines: Sequence[str], names: dict[str, object] | None = None
) -> FunctionType:
    namespace = {} if names is None else names
    exec(f"def {name}({', '.join(arguments)}):\n " + "\n ".join(lines), namespace)
    method = namespace[name]
    assert isinstance(method, FunctionType)
    return method


def _initializer(owner: type) -> FunctionType:
    is_frozen = owner.__dataclass_params__.frozen  # pyright: ignore
    slots = _slots(owner) if is_frozen else {}
    names: dict[str, object] = {"_set": object.__setattr__, "_not_given": _NOT_GIVEN, **slots}
    positional, named, lines = ["self"], ["*"], list[str]()
    for field in _fields(owner):
        name, value, default = field.name, field.name, ""
        if field.default is not MISSING:
            names[f"_default_{name}"], default = field.default, f"=_default_{name}"
            value = name if field.init else f"_default_{name}"
        elif field.default_factory is not MISSING:
            names[f"_factory_{name}"], default = field.default_factory, "=_not_given"
            made = f"_factory_{name}()"
            value = f"{made} if {name} is _not_given else {name}" if field.init else made
        elif not field.init:
            continue
        if field.init:
            (named if field.kw_only else positional).append(name + default)
        if f"_set_{name}" in slots:
            lines.append(f"_set_{name}(self, {value})")
        else:
            lines.append(f"_set(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}")
    if hasattr(owner, "__post_init__"):
        lines.append("self.__post_init__()")
    method = _compiled("__init__", positional + named if named[1:] else positional, lines or ["pass"], names)
    method.__annotations__ = {f.name: f.type for f in _fields(owner) if f.init} | {"return": None}
    return method


def _slots(owner: type) -> dict[str, object]:
    """The functions that set slots, by names in an initializer: twice as fast as by those of fields."""
    found = ((field.name, getattr(owner, field.name, None)) for field in _fields(owner))
    return {f"_set_{name}": slot.__set__ for name, slot in found if isinstance(slot, MemberDescriptorType)}


def _tuple_of(names: Sequence[str], instance: str) -> str:
    return f"({''.join(f'{instance}.{name}, ' for name in names)})"


def _equality(owner: type) -> FunctionType:
    names = [field.name for field in _fields(owner) if field.compare]
    lines = (
        "if other.__class__ is self.__class__:",
        f" return {_tuple_of(names, 'self')} == {_tuple_of(names, 'other')}",
        "return NotImplemented",
    )
    return _compiled("__eq__", ("self", "other"), lines)


def _hasher(owner: type) -> FunctionType:
    names = [f.name for f in _fields(owner) if (f.compare if f.hash is None else f.hash)]
    return _compiled("__hash__", ("self",), [f"return hash({_tuple_of(names, 'self')})"])


def _shower(owner: type) -> FunctionType:
    shown = ", ".join(f"{field.name}={{self.{field.name}!r}}" for field in _fields(owner) if field.repr)
    line = f'return self.__class__.__qualname__ + f"({shown})"'
    method = recursive_repr()(_compiled("__repr__", ("self",), [line]))
    assert isinstance(method, FunctionType)
    return method


_WRITERS: dict[str, Writer] = {"__init__": _initializer, "__repr__": _shower, "__eq__": _equality}
