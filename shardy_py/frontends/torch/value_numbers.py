"""Numbers of tensors that are known to be equal: the same ops compute them from the same values.

    numbers = ValueNumbers()
    numbers.note(func, args, kwargs, result, written=())
    numbers.of(state["step"]) == numbers.of(other["step"])

Parameters may share a count of steps, but not what is computed from their sizes (`torch.tensor(p.numel())`).
Elements of fake tensors are unknown, so what counts is how they were made.

Not here: which tensors depend on parameters (`dependence.py`), states (`optimizers.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.traced import Traced


class ValueNumbers:
    """Equal numbers for equal values; a value that nothing is known of has one of its own."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        # A storage that is freed would give its address to another, so the tensor is kept.
        self._storages: dict[int, tuple[Traced, int]] = {}

    def give(self, tensor: Traced, key: object) -> None:
        """Tensors with equal keys are equal."""
        self._storages[_storage(tensor)] = tensor, self._number(("given", key))

    def give_as(self, tensor: Traced, original: Traced) -> None:
        """A copy has the elements of a tensor of the user."""
        self._storages[_storage(tensor)] = tensor, self._number(_elements(original))

    def of(self, tensor: Traced) -> int:
        """Returns the number of the elements of a tensor."""
        key = _storage(tensor)
        if key not in self._storages:
            self._storages[key] = tensor, self._number(_elements(tensor))
        return self._number((self._storages[key][1], *_part(tensor)))

    def note(
        self,
        func: Callable[..., object],
        args: Sequence[object],
        kwargs: object,
        result: object,
        written: Sequence[Traced],
    ) -> None:
        """Numbers the results of an op, and the operands that it changes."""
        tree_leaves = torch_module("torch.utils._pytree").tree_leaves
        is_random = any(tag.name == "nondeterministic_seeded" for tag in getattr(func, "tags", ()))
        operands = object() if is_random else (*map(self._key, tree_leaves((args, kwargs))),)
        fresh = [leaf for leaf in tree_leaves(result) if is_tensor(leaf)]
        for place, tensor in enumerate((*written, *fresh)):
            if place < len(written) or _storage(tensor) not in self._storages:
                number = self._number((func, operands, place, _part(tensor)))
                self._storages[_storage(tensor)] = tensor, number

    def _key(self, leaf: Traced) -> object:
        if is_tensor(leaf):
            return "tensor", self.of(leaf)
        return type(leaf).__name__, leaf

    def _number(self, key: object) -> int:
        try:
            return self._numbers.setdefault(key, len(self._numbers))
        except TypeError:  # an argument without a hash
            return self._numbers.setdefault(object(), len(self._numbers))


def _storage(tensor: Traced) -> int:
    return tensor.untyped_storage()._cdata


def _part(tensor: Traced) -> tuple[object, ...]:
    """The part of its storage that a tensor is."""
    return tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype


def _elements(tensor: Traced) -> object:
    """The element of a tensor that is a number, as `torch.tensor(2.0)`; nothing is known of others.

    On the device meta, numbers of one shape are taken for equal.
    """
    if type(tensor) is not torch_module("torch").Tensor or tensor.numel() != 1:
        return object()
    if tensor.is_meta:
        return "element", ""
    with torch_module("torch.utils._python_dispatch")._disable_current_modes():
        return "element", tensor.item()
