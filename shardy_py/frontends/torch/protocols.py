"""Protocols of the objects of torch that this folder uses: PyTorch is optional, and types may not need it.

`Any` stands only for what torch leaves open: the target, arguments and metadata of a node, the arithmetic of
tensors that are traced.

Not here: rules for nodes (`nodes.py`), the modules of torch themselves (`placements.torch_module`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

Hook = Callable[..., Any]
"""A function that torch calls with a module, its arguments, and its result."""


class FxNode(Protocol):
    """A node of `torch.fx`: a placeholder, a constant, a call, or the output."""

    op: str
    name: str
    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    meta: dict[str, Any]
    users: dict[FxNode, None]

    @property
    def graph(self) -> FxGraph:
        """The graph of the node."""
        ...

    @property
    def all_input_nodes(self) -> list[FxNode]:
        """The nodes whose results it takes, each once."""
        ...

    def replace_all_uses_with(self, replace_with: Any, /) -> list[FxNode]:
        """Gives its users another node's result."""
        ...

    def replace_input_with(self, old_input: FxNode, new_input: FxNode, /) -> None:
        """Takes another node's result where it took the old one's."""
        ...

    def __hash__(self) -> int: ...


class FxGraph(Protocol):
    """A graph of `torch.fx`."""

    @property
    def nodes(self) -> Iterable[FxNode]:
        """Its nodes in order."""
        ...

    @property
    def owning_module(self) -> Any:
        """The module that it is the code of."""
        ...

    def call_function(self, target: Any, args: tuple[Any, ...] = (), kwargs: Any = None, /) -> FxNode:
        """A new call at the point of insertion."""
        ...

    def erase_node(self, node: FxNode, /) -> None:
        """Removes a node without users."""
        ...

    def eliminate_dead_code(self) -> bool:
        """Removes the nodes without users that have no effect."""
        ...

    def inserting_before(self, node: FxNode, /) -> AbstractContextManager[Any]:
        """Inserts before a node for a while."""
        ...

    def inserting_after(self, node: FxNode, /) -> AbstractContextManager[Any]:
        """Inserts after a node for a while."""
        ...


class Exported(Protocol):
    """A `torch.export.ExportedProgram`, or its parts."""

    @property
    def graph(self) -> FxGraph:
        """The graph of the whole program."""
        ...

    @property
    def graph_module(self) -> Any:
        """The module of that graph, with the bodies of its control flow."""
        ...

    @property
    def graph_signature(self) -> Any:
        """The kinds of its inputs and outputs."""
        ...

    @property
    def constants(self) -> Mapping[str, Any]:
        """Its constants by name."""
        ...

    @property
    def call_spec(self) -> Any:
        """The trees of its arguments and results."""
        ...

    @property
    def state_dict(self) -> Mapping[str, Any]:
        """Its parameters and buffers by name."""
        ...


class TorchTensor(Protocol):
    """A `torch.Tensor`, as far as it is read; a fake one too."""

    @property
    def dtype(self) -> Any:
        """Its `torch.dtype`."""
        ...

    @property
    def device(self) -> Any:
        """Its `torch.device`."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        ...

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        ...

    @property
    def requires_grad(self) -> bool:
        """True if its gradient is computed."""
        ...

    @property
    def is_meta(self) -> bool:
        """True if it has no data."""
        ...

    def numel(self) -> int:
        """The number of its elements."""
        ...

    def stride(self) -> tuple[int, ...]:
        """Its strides, in elements."""
        ...

    def storage_offset(self) -> int:
        """The position of its first element in its storage."""
        ...

    def untyped_storage(self) -> Any:
        """Its storage."""
        ...

    def detach(self) -> TorchTensor:
        """The tensor without the graph of its gradient."""
        ...

    def clone(self) -> TorchTensor:
        """A copy."""
        ...

    def permute(self, *dims: int) -> TorchTensor:
        """A view with its dimensions in another order."""
        ...

    def reshape(self, *shape: Any) -> TorchTensor:
        """The tensor with another shape."""
        ...

    def squeeze(self, dim: int, /) -> TorchTensor:
        """The tensor without a dimension of size 1."""
        ...

    def unsqueeze(self, dim: int, /) -> TorchTensor:
        """The tensor with one more dimension of size 1."""
        ...

    def new_empty(self, size: Any, /, **options: Any) -> TorchTensor:
        """A new tensor of its type and device."""
        ...

    def __hash__(self) -> int: ...


class TorchModule(Protocol):
    """A `torch.nn.Module`."""

    def named_modules(self, *, remove_duplicate: bool = True) -> Iterator[tuple[str, TorchModule]]:
        """It and the modules in it, by path."""
        ...

    def named_parameters(
        self, *, recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, TorchTensor]]:
        """The parameters by name."""
        ...

    def named_buffers(self, *, remove_duplicate: bool = True) -> Iterator[tuple[str, TorchTensor]]:
        """The buffers by name."""
        ...

    def parameters(self) -> Iterator[TorchTensor]:
        """The parameters."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """The parameters and buffers by name."""
        ...

    def get_submodule(self, target: str, /) -> TorchModule:
        """The module of a path."""
        ...

    def register_forward_pre_hook(self, hook: Hook, /, *, with_kwargs: bool = False) -> Any:
        """A handle of a function that is called before the module."""
        ...

    def register_forward_hook(self, hook: Hook, /, *, with_kwargs: bool = False) -> Any:
        """A handle of a function that is called after the module."""
        ...

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """The result of the module."""
        ...


class TorchOptimizer(Protocol):
    """A `torch.optim.Optimizer`."""

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Groups of parameters, each with its options."""
        ...

    @property
    def state(self) -> dict[Any, dict[str, Any]]:
        """The state of each parameter."""
        ...

    def step(self) -> object:
        """Updates the parameters."""
        ...
