"""Shapes of HLO as types of MLIR, and values of HLO as trees: a tuple has a branch per element.

StableHLO has several results and operands where HLO has a tuple, so no value of the made program is one.

>>> from shardy_py.hlo.text.values import Shape
>>> print(type_of(Shape("f8e4m3fn", (2, 3))), type_of(Shape("s4", (5, 8), frozenset({1}))))
tensor<2x3xf8E4M3FN> tensor<5x?xi4, #stablehlo.bounds<?, 8>>
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Attribute, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.base.session import SESSION
from shardy_py.hlo.text import Shape
from shardy_py.indexing.layout import element_type
from shardy_py.mlir.dialects.stablehlo.attributes import TokenType, TypeExtensionsAttr
from shardy_py.mlir.text.type_reader import DYNAMIC, float_type, integer_type, ranked_tensor

Tree = SSAValue | tuple["Tree", ...]
"""A value of HLO: of an array or token, or one tree per element of a tuple."""
_COMPLEX = {"c64": "f32", "c128": "f64"}


@lru_cache(maxsize=64)
def element_of(name: str) -> Attribute:
    """The element type that HLO calls `name`.

    Raises:
        ShardyError: MLIR has none.
    """
    if name in _COMPLEX:
        part = float_type(_COMPLEX[name])
        assert part is not None
        return ComplexType(part)  # pyright: ignore[reportArgumentType]
    spelled = element_type(name).mlir
    found = float_type(spelled) or integer_type(spelled.removeprefix("s") if spelled[:2] == "si" else spelled)
    if found is None:
        raise ShardyError.unsupported(f"element type {name}")
    return found


@SESSION.cache(1 << 12)
def type_of(shape: Shape) -> Attribute:
    """The type of an array or token. An unknown size is `?`, with its bound in the encoding.

    Raises:
        ShardyError: it is none that StableHLO has.
    """
    if shape.element == "token":
        return TokenType()
    if shape.is_tuple or shape.element == "opaque":
        raise ShardyError.unsupported(f"value of shape {shape}")
    sizes = tuple(
        DYNAMIC if size is None or dimension in shape.dynamic else size
        for dimension, size in enumerate(shape.sizes)
    )
    bounds = tuple(
        size if size is not None and dimension in shape.dynamic else DYNAMIC
        for dimension, size in enumerate(shape.sizes)
    )
    encoding = TypeExtensionsAttr(bounds) if shape.dynamic else None
    return ranked_tensor(sizes, element_of(shape.element), encoding)


def leaf_types(shape: Shape) -> list[Attribute]:
    """The types of the leaves of a shape, in order."""
    return [type_of(leaf) for leaf in shape.leaves()]


def tree_of(shape: Shape, leaves: Iterator[SSAValue]) -> Tree:
    """Returns the tree of a value of that shape, made of the next leaves.

    Raises:
        ShardyError: there are fewer.
    """
    if shape.is_tuple:
        return tuple([tree_of(part, leaves) for part in shape.parts])
    found = next(leaves, None)
    if found is None:
        raise ShardyError.unexpected("shape", expected="one for each value", got="more leaves than values")
    return found


def leaves_of(trees: Sequence[Tree]) -> list[SSAValue]:
    """The leaves of trees, in order."""
    found: list[SSAValue] = []
    waiting = list(reversed(trees))
    while waiting:
        tree = waiting.pop()
        if isinstance(tree, tuple):
            waiting += reversed(tree)
        else:
            found.append(tree)
    return found
