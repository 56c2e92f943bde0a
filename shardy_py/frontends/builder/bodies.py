"""Python functions of tensors as bodies: of regions, and of functions of the program.

    body = region(lambda a, b: a + b, [tensor(()), tensor(())])

Not here: the ops that have regions (`regions.py`), functions (`build.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.ir import Attribute, Block, Region

from shardy_py.base.errors import ShardyError
from shardy_py.frontends.builder.emit import result_types
from shardy_py.frontends.builder.insertion import insert, inserting_into
from shardy_py.frontends.builder.tensor import Tensor, value_of
from shardy_py.frontends.builder.types import RankedTensorType
from shardy_py.mlir.dialects import syntax_table
from shardy_py.mlir.dialects.stablehlo import ReturnOp

Body = Callable[..., object]
"""A function of tensors that returns a tensor or a sequence of tensors."""


def region(
    body: Body,
    types: Sequence[RankedTensorType | Attribute],
    terminator: str = ReturnOp.name,
    *,
    isolated: bool = False,
) -> Region:
    """Returns the region that `body` builds from arguments of these types, for `emit`.

    terminator: the op that ends it, with the results of `body` as operands. isolated: whether tensors from
        outside are invalid in it.
    """
    block = Block(arg_types=result_types(types))
    with inserting_into(block, isolated=isolated):
        try:
            results = body(*map(Tensor, block.args))
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise
            raise _no_such_call(body, len(types), error) from None
        values = [value_of(result) for result in listed(results)]
        end = syntax_table().op(terminator)
        if end is None:
            raise ShardyError(f"unknown terminator '{terminator}'; register its dialect")
        insert(end.op_class.create(operands=values))
    return Region(block)


def parameter_names(function: Body, count: int) -> list[str]:
    """The names of a function's first `count` parameters; empty for variadic ones.

    Raises `ShardyError` for a value that is not callable, or not with that number of tensors.
    """
    if not callable(function):
        raise ShardyError.unexpected("", expected=f"a function of {count} tensors", got=f"{function!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return [""] * count
    try:
        signature.bind(*[None] * count)
    except TypeError as error:
        raise _no_such_call(function, count, error) from None
    parameters = list(signature.parameters.values())
    names = [p.name if p.kind is not p.VAR_POSITIONAL else "" for p in parameters]
    return [*names, *[""] * count][:count]


def _no_such_call(function: object, count: int, error: TypeError) -> ShardyError:
    name = getattr(function, "__name__", repr(function))
    return ShardyError(f"'{name}' cannot be called with {count} tensors: {error}")


def listed(results: Any) -> Sequence[Tensor]:
    """The results of a Python function: a tensor, a sequence of them, or None."""
    if results is None:
        return ()
    return cast("Sequence[Tensor]", results) if isinstance(results, list | tuple) else (results,)
