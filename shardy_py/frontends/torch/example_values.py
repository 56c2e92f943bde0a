"""Numbers that code reads from tensors, and sizes that depend on their elements: those of the example inputs.

    values = ExampleValues()
    with values.recorded():
        model(x)                    n = int(lengths.max()); kept = x[mask]
    with values.given():
        torch.export.export(...)    n = 12;                 kept = x[of 7 elements]

The traced model calls the same functions in the same order, and gets the number or size that was seen: the
program holds for inputs that have the same. Not here: functions with fixed sizes (`substitutes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from shardy_py.api import ShardyError
from shardy_py.base.narrowing import is_sequence
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.scalars import extremes_are_tensors
from shardy_py.frontends.torch.substitutes import bincount, substitutes
from shardy_py.frontends.torch.traced import Traced

Function = Callable[..., object]
Arguments = Sequence[Traced]
Keywords = Mapping[str, Traced]
Read = Callable[[str, Function, Arguments, Keywords], object]
"""The result of a call, by name, function and arguments."""

_NUMBERS = frozenset(
    [
        "item",
        "__bool__",
        "__int__",
        "__float__",
        "__index__",
        "__complex__",
        "is_nonzero",
        "equal",
        "allclose",
    ]
)
"""Functions that read a number from tensors."""


_INDEXED, _RANGES = ("__getitem__", "__setitem__"), ("arange", "linspace")
"""Functions in which torch reads numbers from tensors in an index, and from all that are given."""


@dataclass(frozen=True)
class _Read:
    """A result of a function that depends on elements: a number, or a size."""

    name: str
    value: Traced


class ExampleValues:
    """The values that a model read from tensors in one run, for runs that are traced."""

    def __init__(self) -> None:
        self._reads: list[_Read] = []

    @contextmanager
    def recorded(self) -> Generator[None]:
        """Within it, calls are recorded; random numbers are those of before, after it."""

        def read(name: str, function: Function, args: Arguments, keywords: Keywords) -> object:
            read_by_torch = _integers(args[1]) if name in _INDEXED else []
            read_by_torch += filter(is_tensor, (*args, *keywords.values())) if name in _RANGES else ()
            self._reads += [_Read("item", each.item()) for each in read_by_torch]
            found = function(*args, **keywords)
            if name == "tolist":  # fake tensors read their elements one by one
                self._reads += [_Read("item", each) for each in _elements(found)]
            elif name in _NUMBERS:
                self._reads.append(_Read(name, found))
            elif name in _SIZED and _SIZED[name].depends(*args, **keywords):
                self._reads.append(_Read(name, _SIZED[name].size(found, *args, **keywords)))
            return found

        random = torch_module("torch").random.fork_rng(devices=())
        with random, _intercepting(read), substitutes(), extremes_are_tensors():
            yield

    @contextmanager
    def given(self) -> Generator[None]:
        """Within it, calls return what was recorded.

        Raises `ShardyError` where the code calls others, or fewer: models may ask whether they are traced.
        """
        left = self._reads[::-1]

        def next_value(name: str) -> Traced:
            if not left or left[-1].name != name:
                raise _differs(f"calls {name}()", left[-1].name if left else "")
            return left.pop().value

        def read(name: str, function: Function, args: Arguments, keywords: Keywords) -> object:
            if name in _INDEXED:
                args = args[0], _with_integers(args[1], lambda: next_value("item")), *args[2:]
            if name in _RANGES:
                args = [next_value("item") if is_tensor(each) else each for each in args]
                keywords = {
                    key: next_value("item") if is_tensor(each) else each for key, each in keywords.items()
                }
            sized = _SIZED.get(name)
            if name not in _NUMBERS and (sized is None or not sized.depends(*args, **keywords)):
                return function(*args, **keywords)
            value = next_value(name)
            return value if sized is None else sized.static(value, *args, **keywords)

        with _intercepting(read), extremes_are_tensors():
            yield
        if left:
            raise _differs("ends", left[-1].name)


def _elements(listed: object) -> list[object]:
    """The numbers in lists of lists."""
    return [each for part in listed for each in _elements(part)] if is_sequence(listed) else [listed]


def _differs(what: str, before: str) -> ShardyError:
    expected = f"calls {before}()" if before else "ends"
    return ShardyError(
        f"specialize: traced, the model {what} where it {expected} otherwise; it may ask whether it is traced"
    )


def _intercepting(read: Read) -> AbstractContextManager[object]:
    class ReadingMode(torch_module("torch.overrides").TorchFunctionMode):
        """Passes calls on by the name of the function."""

        def __torch_function__(
            self, func: Function, types: object, args: Arguments = (), kwargs: Keywords | None = None
        ) -> object:
            return read(getattr(func, "__name__", ""), func, args, kwargs or {})

    return ReadingMode()


@dataclass(frozen=True)
class _Sized:
    """A function whose result has a size that depends on elements.

    depends: whether these arguments have such a result. size: of a result of them. static: the result with
    that size; its first argument.
    """

    depends: Callable[..., bool]
    size: Callable[..., object]
    static: Callable[..., object]


def _positions(count: int, mask: Traced, *, as_tuple: bool = False) -> object:
    """The positions of `count` elements that are not zero."""
    found = torch_module("torch").nonzero_static(mask, size=count)
    return found.unbind(1) if as_tuple else found


def _keys(key: object) -> list[Traced]:
    return [*key] if is_sequence(key) and isinstance(key, tuple) else [key]


def _is_integer(part: Traced) -> bool:
    """Returns whether a part of an index, or a bound of a slice, is a tensor that is read as an integer."""
    torch = torch_module("torch")
    is_number = is_tensor(part) and not part.ndim
    return is_number and part.dtype in (torch.int8, torch.int16, torch.int32, torch.int64)


def _is_slice(part: Traced) -> bool:
    return isinstance(part, slice)


def _integers(key: object) -> list[Traced]:
    """The tensors in an index that are read as integers, in order; exports of torch read them so, too."""
    bounds = [[p.start, p.stop, p.step] if _is_slice(p) else [p] for p in _keys(key)]
    return [each for part in bounds for each in part if _is_integer(each)]


def _with_integers(key: object, next_integer: Callable[[], int]) -> object:
    """An index with integers in place of the tensors that are read as such."""

    def number(part: Traced) -> Traced:
        return next_integer() if _is_integer(part) else part

    if not _integers(key):
        return key
    return tuple(
        slice(number(p.start), number(p.stop), number(p.step)) if _is_slice(p) else number(p)
        for p in _keys(key)
    )


def _is_mask(key: Traced) -> bool:
    torch = torch_module("torch")
    return is_tensor(key) and key.dtype in (torch.bool, torch.uint8) and key.ndim > 0


def _has_mask(tensor: object, key: object, *_: object, **__: object) -> bool:
    return any(map(_is_mask, _keys(key)))


def _counts(_: object, tensor: object, key: object, *__: object, **___: object) -> list[int]:
    """The number of elements that each mask in an index keeps."""
    return [int(each.count_nonzero()) for each in _keys(key) if _is_mask(each)]


def _by_positions(counts: Sequence[int], key: object) -> object:
    """An index with the positions of elements in place of masks."""
    left, found = list(counts), list[Traced]()
    for each in _keys(key):
        found += (
            torch_module("torch").nonzero_static(each, size=left.pop(0)).unbind(1)
            if _is_mask(each)
            else [each]
        )
    return tuple(found)


def _selected(counts: Sequence[int], tensor: Traced, key: object) -> object:
    return tensor[_by_positions(counts, key)]


def _assigned(counts: Sequence[int], tensor: Traced, key: object, value: object) -> None:
    tensor[_by_positions(counts, key)] = value


def _put(counts: Sequence[int], tensor: Traced, indices: object, *given: object, **options: object) -> object:
    return tensor.index_put(_by_positions(counts, indices), *given, **options)


def _put_in_place(
    counts: Sequence[int], tensor: Traced, indices: object, *given: object, **options: object
) -> object:
    return tensor.index_put_(_by_positions(counts, indices), *given, **options)


def _masked(count: int, input: Traced, mask: Traced) -> object:
    """The elements that a mask keeps; both are broadcast."""
    values, kept = torch_module("torch").broadcast_tensors(input, mask)
    return _selected([count], values, kept)


def _unique(
    count: int,
    input: Traced,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: None = None,
) -> object:
    """The `count` different elements, in order."""
    ordered, places = input.flatten().sort()
    values, numbers, counts = _runs(count, ordered)
    inverse = torch_module("torch").zeros_like(numbers).scatter(0, places, numbers).reshape(input.shape)
    found = (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))
    return found if len(found) > 1 else values


def _unique_consecutive(
    count: int, input: Traced, return_inverse: bool = False, return_counts: bool = False, dim: None = None
) -> object:
    """The first elements of `count` runs of equal ones."""
    values, numbers, counts = _runs(count, input.flatten())
    inverse = numbers.reshape(input.shape)
    found = (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))
    return found if len(found) > 1 else values


def _runs(count: int, elements: Traced) -> tuple[Traced, Traced, Traced]:
    """The element of each run of equal ones, the number of the run of each element, the lengths of runs."""
    torch = torch_module("torch")
    is_first = torch.ones_like(elements[:1], dtype=torch.bool)
    starts = torch.cat([is_first, elements[1:] != elements[:-1]])
    numbers = starts.long().cumsum(0) - 1
    return _selected([count], elements, starts), numbers, bincount(numbers, minlength=count)


def _split(places: int | list[int], input: Traced, indices: object, dim: int = 0) -> object:
    return torch_module("torch").tensor_split(input, places, dim)


def _places(found: object, input: object, indices: Traced, dim: int = 0) -> object:
    """The numbers in the tensor that says where to split."""
    return indices.tolist()


def _repeated(
    count: int, input: Traced, repeats: Traced, dim: int | None = None, *, output_size: int | None = None
) -> object:
    """Each element along a dimension as often as a tensor says."""
    torch = torch_module("torch")
    values, along = (input.flatten(), 0) if dim is None else (input, dim)
    ends = repeats.expand(values.shape[along]).cumsum(0)
    places = torch.searchsorted(ends, torch.arange(count, dtype=ends.dtype), right=True)
    return values.index_select(along, places)


def _bincount(count: int, input: Traced, weights: Traced = None, minlength: int = 0) -> object:
    return bincount(input, weights, minlength=count)


def _one_hot(count: int, tensor: Traced, num_classes: object = -1) -> object:
    return torch_module("torch").nn.functional.one_hot(tensor, count)


def _where(count: int, condition: Traced) -> object:
    return _positions(count, condition, as_tuple=True)


def _length(found: object, *_: object, **__: object) -> int:
    """The size of the first dimension of a result, or of its first tensor."""
    first: Traced = found[0] if is_sequence(found) else found
    return first.shape[0]


def _classes(found: Traced, *_: object, **__: object) -> int:
    return found.shape[-1]


def _repetitions(found: Traced, input: object, repeats: object, dim: int | None = None, **_: object) -> int:
    return found.shape[dim or 0]


def _always(*_: object, **__: object) -> bool:
    return True


def _has_no_size(*args: object, minlength: int = 0, **_: object) -> bool:
    return not minlength and len(args) < 3


def _has_no_classes(tensor: object, num_classes: Traced = -1) -> bool:
    return is_tensor(num_classes) or num_classes < 0


def _is_of_all(*args: object, dim: object = None, **_: object) -> bool:
    return dim is None


def _is_alone(*args: object, **keywords: object) -> bool:
    return len(args) + len(keywords) == 1


def _has_tensor(input: object, given: object = None, dim: object = None, **_: object) -> bool:
    return is_tensor(given)


_SIZED: Mapping[str, _Sized] = {
    "nonzero": _Sized(_always, _length, _positions),
    "argwhere": _Sized(_always, _length, _positions),
    "where": _Sized(_is_alone, _length, _where),
    "masked_select": _Sized(_always, _length, _masked),
    "__getitem__": _Sized(_has_mask, _counts, _selected),
    "__setitem__": _Sized(_has_mask, _counts, _assigned),
    "index_put": _Sized(_has_mask, _counts, _put),
    "index_put_": _Sized(_has_mask, _counts, _put_in_place),
    "unique": _Sized(_is_of_all, _length, _unique),
    "unique_consecutive": _Sized(_is_of_all, _length, _unique_consecutive),
    "tensor_split": _Sized(_has_tensor, _places, _split),
    "bincount": _Sized(_has_no_size, _length, _bincount),
    "one_hot": _Sized(_has_no_classes, _classes, _one_hot),
    "repeat_interleave": _Sized(_has_tensor, _repetitions, _repeated),
}
"""Functions whose sizes depend on elements, by name."""
