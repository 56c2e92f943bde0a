"""Tensors that depend on others: which are computed from parameters and gradients, in a step on fake tensors.

    with dependence([parameter, gradient]) as depends:
        optimizer.step()
    depends(state["exp_avg"])

A count of steps does not depend on them, so all parameters can share one.

Not here: the step (`optimizers.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter

from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.protocols import TorchTensor

_ARGUMENTS = attrgetter("_schema.arguments")
"""The arguments in the schema of an op of torch."""


@contextmanager
def dependence(sources: Iterable[TorchTensor]) -> Generator[Callable[[TorchTensor], bool]]:
    """Yields whether a tensor was computed from one of the sources, in what runs meanwhile.

    Tensors of one storage depend on the same.
    """
    pytree = torch_module("torch.utils._pytree")
    kept: dict[int, TorchTensor] = {}

    def storage(tensor: TorchTensor) -> int:
        return tensor.untyped_storage()._cdata

    def add(tensors: Iterable[TorchTensor]) -> None:
        for tensor in tensors:
            kept.setdefault(
                storage(tensor), tensor
            )  # a storage that is freed would give its number to another

    def tensors_in(values: object) -> list[TorchTensor]:
        return [leaf for leaf in pytree.tree_leaves(values) if is_tensor(leaf)]

    class DependenceMode(torch_module("torch.utils._python_dispatch").TorchDispatchMode):
        """Marks the results of ops whose operands are marked, and the operands that they change."""

        def __torch_dispatch__(
            self,
            func: Callable[..., object],
            types: object,
            args: Sequence[object] = (),
            kwargs: Mapping[str, object] | None = None,
        ) -> object:
            keywords = kwargs or {}
            result = func(*args, **keywords)
            if any(storage(tensor) in kept for tensor in tensors_in((args, keywords))):
                add(tensors_in(result))
                changed = (
                    value
                    for argument, value in zip(_ARGUMENTS(func), args, strict=False)
                    if argument.alias_info is not None and argument.alias_info.is_write
                )
                add(tensors_in([*changed]))
            return result

    add(sources)
    with DependenceMode():
        yield lambda tensor: storage(tensor) in kept
