"""Tensors that depend on others: which are computed from which parameters and gradients, in a step.

    with dependence({"weight": [parameter, gradient]}) as sources:
        optimizer.step()
    sources(state["exp_avg"])                                   {"weight"}

A count of steps depends on none, so all parameters can share one.

Not here: the step (`optimizers.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter

from shardy_py.api import ShardyError
from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.protocols import TorchTensor
from shardy_py.frontends.torch.value_numbers import ValueNumbers

_ARGUMENTS = attrgetter("_schema.arguments")
"""The arguments in the schema of an op of torch."""


@contextmanager
def dependence(
    sources: Mapping[str, Iterable[TorchTensor]],
    numbers: ValueNumbers | None = None,
    refused: Mapping[str, TorchTensor] | None = None,
) -> Generator[Callable[[TorchTensor], frozenset[str]]]:
    """Yields the names of the sources that a tensor is computed from, in what runs meanwhile.

    Tensors of one storage depend on the same. numbers: of the tensors that depend on none.
    refused: tensors by name. Raises `ShardyError` for ops on these.
    """
    pytree = torch_module("torch.utils._pytree")
    names: dict[int, frozenset[str]] = {}
    kept: list[TorchTensor] = []  # a storage that is freed would give its number to another

    def storage(tensor: TorchTensor) -> int:
        return tensor.untyped_storage()._cdata

    def add(tensors: Iterable[TorchTensor], found: frozenset[str]) -> None:
        for tensor in tensors:
            key = storage(tensor)
            if key not in names:
                kept.append(tensor)
            names[key] = names.get(key, frozenset()) | found

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
            operands = tensors_in((args, keywords))
            for name in (foreign[storage(each)] for each in operands if storage(each) in foreign):
                raise ShardyError(
                    f"the step uses the parameter or buffer {name} itself, which is another one in the "
                    "program; reach parameters through param_groups, or through the model"
                )
            result = func(*args, **keywords)
            found = frozenset[str]().union(*(names.get(storage(each), ()) for each in operands))
            if found or numbers is not None:
                changed = [
                    value
                    for argument, value in zip(_ARGUMENTS(func), args, strict=False)
                    if argument.alias_info is not None and argument.alias_info.is_write
                ]
                if found:
                    add(tensors_in(result), found)
                    add(tensors_in(changed), found)
                elif numbers is not None:
                    numbers.note(func, args, keywords, result, tensors_in(changed))
            return result

    foreign = {storage(tensor): name for name, tensor in (refused or {}).items() if tensor.numel()}
    for name, tensors in sources.items():
        add(tensors, frozenset((name,)))
    with DependenceMode():
        yield lambda tensor: names.get(storage(tensor), frozenset())
