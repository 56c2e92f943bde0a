"""Numbers of an optimizer that stay tensors while its step is traced, and steps of single tensors.

    with scalars_are_tensors(modules):
        optimizer.step()                   `.item()`, `max(1.0, norm)`, `math.sqrt(step)`, `alpha=-rate`

Optimizers read numbers from tensors, of which a trace has no values: `item()` is the tensor itself, what
takes a number takes it as a tensor, and functions of Python are those of torch for tensors.
`torch._foreach_mul_` is a call for each tensor.

Not here: the step (`optimizers.py`).
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import reduce
from types import ModuleType
from typing import Any

from shardy_py.base.narrowing import is_sequence
from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.protocols import TorchTensor
from shardy_py.frontends.torch.traced import Traced

Function = Callable[..., Any]
Arguments = Sequence[Any]
Keywords = Mapping[str, Any]
"""The arguments of a call of torch."""
_FOREACH = "_foreach_"
_PREFIX = {"_foreach_norm": "linalg.vector_norm"}
"""The functions of lists whose function of one tensor has another name."""
_SCALED = {"add": "alpha", "sub": "alpha", "subtract": "alpha", "addcmul": "value", "addcdiv": "value"}
"""The keyword of a number by which the last term of a function is multiplied."""


Answer = Callable[[TorchTensor], bool | None]
"""The side of a branch on a tensor; None where torch decides."""


@contextmanager
def scalars_are_tensors(modules: Iterable[ModuleType], answer: Answer) -> Generator[None]:
    """Numbers that code in these modules reads from tensors stay tensors. answer: for branches on tensors."""
    with _python_functions(modules), _mode(answer):
        yield


def _mode(answer: Answer) -> AbstractContextManager[object]:

    class ScalarMode(torch_module("torch.overrides").TorchFunctionMode):
        """Replaces calls that read or take numbers by calls on tensors."""

        def __torch_function__(
            self,
            func: Callable[..., object],
            types: object,
            args: Arguments = (),
            kwargs: Keywords | None = None,
        ) -> object:
            name, keywords = getattr(func, "__name__", ""), kwargs or {}
            if name == "item":
                return args[0].reshape(()).clone()
            if name == "data_ptr":  # whether tensors share memory
                return args[0].untyped_storage()._cdata + args[0].storage_offset()
            if name == "__getitem__":
                return _indexed(args[0], args[1])
            if name == "__bool__" and (side := answer(args[0])) is not None:
                return side
            if name.startswith(_FOREACH):
                return _each(name, args, keywords)
            return _called(name, func, args, keywords)

    return ScalarMode()


def _indexed(tensor: Traced, key: object) -> object:
    """Elements of a tensor at an index, in which an integer may be a tensor without dimensions."""
    torch = torch_module("torch")
    keys: list[Traced] = [*key] if is_sequence(key) and isinstance(key, tuple) else [key]
    for dim, each in enumerate(keys):
        if each is None or each is Ellipsis or (is_tensor(each) and each.ndim):
            break  # the next index is not that of the next dimension
        if is_tensor(each) and each.dtype != torch.bool:
            tensor = tensor.index_select(dim, each.reshape(1).to(torch.int64))
            keys[dim] = 0
    return tensor[tuple(keys) if isinstance(key, tuple) else keys[0]]


def _called(name: str, function: Callable[..., object], args: Arguments, keywords: Keywords) -> object:
    """The result of a function, whose last term may be multiplied by a tensor instead of a number."""
    base = name.removesuffix("_")
    scale = keywords.get(_SCALED.get(base, ""))
    if not is_tensor(scale):
        return function(*args, **keywords)
    others = {key: value for key, value in keywords.items() if value is not scale}
    start, *terms = args
    term = terms[0] if len(terms) == 1 else terms[0] * terms[1] if base == "addcmul" else terms[0] / terms[1]
    method = getattr(start, name.replace(base, "add") if base.startswith("addc") else name)
    return method(term * scale, **others)


def _each(name: str, args: Arguments, keywords: Keywords) -> object:
    """A function of lists as calls for the tensors in them."""
    torch = torch_module("torch")
    is_list = [isinstance(each, list | tuple) for each in args]
    count = next(len(each) for each, listed in zip(args, is_list, strict=True) if listed)
    base = _PREFIX.get(name, name.removeprefix(_FOREACH))
    places_itself = name.endswith("_")
    results: list[object] = []
    for number in range(count):
        own = [each[number] if listed else each for each, listed in zip(args, is_list, strict=True)]
        given: Keywords = {
            key: value[number] if isinstance(value, list | tuple) else value
            for key, value in keywords.items()
        }
        if base.startswith("addc") and len(own) > 3:  # the factor is positional in functions of lists
            given["value"] = own.pop()
        if places_itself:
            results.append(_called(base, getattr(torch.Tensor, base), own, given))
        else:
            results.append(_called(base, reduce(getattr, base.split("."), torch), own, given))
    return None if places_itself else tuple(results)


@contextmanager
def extremes_are_tensors() -> Generator[None]:
    """Within it, Python's `max` and `min` of tensors are tensors everywhere, as torch exports them."""
    before = {name: getattr(builtins, name) for name in _BUILTINS}
    try:
        for name, function in _BUILTINS.items():
            setattr(builtins, name, function)
        yield
    finally:
        for name, function in before.items():
            setattr(builtins, name, function)


@contextmanager
def _python_functions(modules: Iterable[ModuleType]) -> Generator[None]:
    """Functions of Python that compare or convert numbers take tensors in these modules."""
    replaced: list[tuple[ModuleType, str, object]] = []
    for module in modules:
        for name, function in (*_BUILTINS.items(), ("math", _Math())):
            before = vars(module).get(name, _MISSING)
            if before in (_MISSING, math) and (name != "math" or before is math):
                replaced.append((module, name, before))
                setattr(module, name, function)
    try:
        yield
    finally:
        for module, name, before in replaced:
            if before is _MISSING:
                delattr(module, name)
            else:
                setattr(module, name, before)


_MISSING = object()


def _has_tensor(values: Iterable[object]) -> bool:
    return any(map(is_tensor, values))


def _extreme(name: str) -> Function:
    """`max` or `min`, also of tensors without dimensions."""
    plain = getattr(builtins, name)

    def function(*values: object, **keywords: object) -> object:
        compared: Arguments = values
        if len(values) == 1 and isinstance(values[0], Iterator | list | tuple):
            compared = [*values[0]]
        if keywords or not _has_tensor(compared) or len(compared) < 2:
            return plain(*([compared] if len(values) == 1 else values), **keywords)
        torch = torch_module("torch")
        first = next(each for each in compared if isinstance(each, torch.Tensor))
        tensors = [
            each if isinstance(each, torch.Tensor) else torch.full_like(first, each) for each in compared
        ]
        return reduce(getattr(torch, f"{name}imum"), tensors)

    return function


_BUILTINS = {"max": _extreme("max"), "min": _extreme("min")}


class _Math:
    """The module `math`, with the functions of torch for tensors."""

    def __getattr__(self, name: str) -> object:
        plain = getattr(math, name)
        if not callable(plain):
            return plain

        def function(*values: object) -> object:
            if not _has_tensor(values):
                return plain(*values)
            torch = torch_module("torch")
            first, *others = (each.reshape(()) if is_tensor(each) else each for each in values)
            if not isinstance(first, torch.Tensor):
                first = torch.full((), first)
            return getattr(torch, _TORCH.get(name, name))(first, *others)

        return function


_TORCH = {"fabs": "abs"}
"""The functions of `math` that have another name in torch."""
