"""`dataclass` as in `dataclasses`, but the methods of a class are compiled when they are first used.

The standard decorator compiles six methods for each class, which takes half a millisecond; a command imports
hundreds of classes and uses few of their methods, and most initializers for a few objects only. Fields,
`replace`, `fields`, matching, copies and pickles are those of the standard library.

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
from dataclasses import field as _field
from functools import lru_cache, partial
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


_FEW = 48
"""The objects of a class that are made without a compiled initializer, which takes as long to compile."""
_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")
"""Words in the annotation of a field that only the standard decorator reads."""
_LAZY = {"__annotate__", "__annotate_func__"}
"""The attributes of a class whose annotations are evaluated on use, from Python 3.14 on."""
_OF_LAYOUT = ("__dict__", "__weakref__")
"""The attributes of a class that follow from its slots."""


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


class InitializerOnUse(MethodOnUse):
    """An initializer that sets the fields of a few objects one by one, and is compiled for more of them.

    It is compiled at once for those who look at it, and for wrong arguments, which it then describes.
    """

    __slots__ = ("known", "left")

    def __init__(self, owner: type, write: Writer) -> None:
        super().__init__(owner, write)
        self.left = _FEW
        self.known: _Known | None = None

    def __get__(self, instance: object, owner: type | None = None) -> object:
        # `inspect` of Python 3.13 looks at it with the class in place of an object.
        if instance is None or self.left == 0 or isinstance(instance, type):
            return super().__get__(instance, owner)
        self.left -= 1
        return partial(self._fill, instance)

    def _fill(self, instance: object, /, *given: object, **named: object) -> None:
        known = self.known = self.known or _Known(self.owner)
        set_ = known.set
        if len(given) == known.all_positional and not named:  # as for most
            for name, value in zip(known.positional, given, strict=True):
                set_(instance, name, value)
        else:
            values = dict(zip(known.positional, given, strict=False)) | named
            if len(values) < len(given) + len(named) or not known.required <= values.keys() <= known.names:
                super().__get__(instance, self.owner)(*given, **named)  # pyright: ignore
                return
            for name, default, factory in known.fields:
                if name in values:
                    set_(instance, name, values[name])
                elif factory is not None or default is not MISSING:
                    set_(instance, name, default if factory is None else factory())
        if known.has_more:
            getattr(instance, "__post_init__")()  # noqa: B009 - a type checker refuses it


class _Known:
    """The fields that an initializer takes: by position, required and all; defaults and factories.

    all_positional: the number of the fields, -1 if some are not given by position.
    has_more: whether there is a `__post_init__`. set: the function that sets a field.
    """

    __slots__ = ("all_positional", "fields", "has_more", "names", "positional", "required", "set")

    def __init__(self, owner: type) -> None:
        taken = [each for each in _fields(owner) if each.init]
        self.positional = [each.name for each in taken if not each.kw_only]
        self.names = {each.name for each in taken}
        self.fields = [
            (each.name, each.default, None if each.default_factory is MISSING else each.default_factory)
            for each in _fields(owner)
        ]
        optional = {name for name, default, make in self.fields if make or default is not MISSING}
        self.required = self.names - optional
        self.all_positional = len(self.fields) if len(self.positional) == len(self.fields) else -1
        self.has_more = hasattr(owner, "__post_init__")
        self.set = object.__setattr__ if owner.__dataclass_params__.frozen else setattr  # pyright: ignore


def _made(
    class_: type[object], compiled: Sequence[str], is_frozen: bool, kw_only: bool, has_slots: bool
) -> type:
    own = vars(class_)
    inherits = any(is_dataclass(base) for base in class_.__mro__[1:])
    if (listed := _listed(class_, is_frozen)) is not None:
        made = _with_fields(class_, listed, _example(is_frozen, kw_only, has_slots))
    else:
        made = _decorator(is_frozen and inherits, kw_only, has_slots)(class_)
    for name in compiled:
        if name not in own:
            on_use = InitializerOnUse if name == "__init__" else MethodOnUse
            setattr(made, name, on_use(made, _WRITERS[name]))
    if "__eq__" in compiled:
        if is_frozen and own.get("__hash__") is None:
            setattr(made, "__hash__", MethodOnUse(made, _hasher))  # noqa: B010 - a type checker refuses it
        elif "__hash__" not in own:
            setattr(made, "__hash__", None)  # noqa: B010
    if is_frozen and not inherits:
        if listed is None:
            made.__dataclass_params__.frozen = True  # pyright: ignore
        _freeze(made, has_slots)
    elif is_frozen and has_slots and not hasattr(made, "__setstate__"):
        _pickle(made)
    return made


def _decorator(is_frozen: bool, kw_only: bool, has_slots: bool) -> Callable[[type], type]:
    """The standard decorator without methods; with slots, it makes a class of its own."""
    return partial(
        _standard, init=False, repr=False, eq=False, frozen=is_frozen, slots=has_slots, kw_only=kw_only
    )


@lru_cache(maxsize=8)
def _example(is_frozen: bool, kw_only: bool, has_slots: bool) -> type:
    """A class that the standard decorator makes with these parameters, which others take over."""

    class Example:
        """A class with a text of its own, so that none is made of the signature."""

        first: int

    return _decorator(is_frozen, kw_only, has_slots)(Example)


def _inherited(class_: type, is_frozen: bool) -> dict[str, Field[object]] | None:
    """The fields of the bases of a class by name; None if one is frozen otherwise, or not made here."""
    found: dict[str, Field[object]] = {}
    for base in reversed(class_.__mro__[1:-1]):
        of_base = vars(base).get("__dataclass_fields__")
        if of_base is not None:
            is_alike = base.__dataclass_params__.frozen is is_frozen  # pyright: ignore
            if not is_alike or len(_fields(base)) != len(of_base):  # that has variables of the class, too
                return None
            found |= of_base
    if is_frozen and found and class_.__setattr__ is not _set:
        return None
    return found


def _listed(class_: type, is_frozen: bool) -> dict[str, Field[object]] | None:
    """The fields of a class by name; None if the standard decorator has to look at it, or to refuse it."""
    own = vars(class_)
    types: dict[str, object] = own.get("__annotations__", {})
    is_generic = any(base.__module__ == "typing" for base in class_.__mro__)
    if is_generic or "__slots__" in own or _LAZY & own.keys():
        return None
    found = _inherited(class_, is_frozen)
    if found is None:
        return None
    for name, type_ in types.items():
        if not isinstance(type_, str) or any(word in type_ for word in _SPECIAL):
            return None
        default = own.get(name, MISSING)
        each: Field[object] = default if isinstance(default, Field) else _field(default=default)  # pyright: ignore
        if each.default.__class__.__hash__ is None:
            return None
        each.name, each.type = name, type_
        found[name] = each
    if any(isinstance(value, Field) and name not in types for name, value in own.items()):
        return None
    return found


def _with_fields(class_: type, listed: dict[str, Field[object]], example: type) -> type:
    """The class with these fields, and all else as in the example; with slots, a class of its own."""
    (first,) = _fields(example)
    for each in listed.values():
        each._field_type = first._field_type  # pyright: ignore
        if each.kw_only is MISSING:
            each.kw_only = first.kw_only
    own, model, made = vars(class_), vars(example), class_
    if "__slots__" in model:
        left = {name: value for name, value in own.items() if name not in listed and name not in _OF_LAYOUT}
        of_bases = {name for base in class_.__mro__[1:-1] for name in vars(base).get("__slots__", ())}
        slots = tuple(name for name in listed if name not in of_bases)
        made = type(class_)(class_.__name__, class_.__bases__, left | {"__slots__": slots})
        made.__qualname__ = class_.__qualname__
    else:
        for name in [name for name in listed if isinstance(own.get(name), Field)]:
            if listed[name].default is MISSING:
                delattr(made, name)
            else:
                setattr(made, name, listed[name].default)
    attributes = {"__dataclass_fields__": listed, "__dataclass_params__": model["__dataclass_params__"]}
    if "__match_args__" not in own:
        positional = (each.name for each in listed.values() if each.init and not each.kw_only)
        attributes["__match_args__"] = tuple(positional)
    if "__replace__" in model:  # from Python 3.13 on
        attributes["__replace__"] = model["__replace__"]
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def _freeze(made: type, has_slots: bool) -> None:
    for name, method in (("__setattr__", _set), ("__delattr__", _delete)):
        setattr(made, name, method)
    if has_slots:
        _pickle(made)


def _pickle(made: type) -> None:
    for name, method in (("__getstate__", _state), ("__setstate__", _restore)):
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
