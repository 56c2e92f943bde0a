"""Protocols of the objects of torch that this folder uses: PyTorch is optional, and types may not need it.

`Any` stands only for what torch leaves open: the target, arguments and metadata of a node, the arithmetic of
tensors that are traced.

Not here: rules for nodes (`nodes.py`), the modules of torch themselves (`placements.torch_module`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

    def replace_all_uses_with(
        self, replace_with: FxNode, /, delete_user_cb: Callable[[FxNode], bool] = ...
    ) -> list[FxNode]:
        """Gives its users another node's result."""
        ...

    def replace_input_with(self, old_input: FxNode, new_input: FxNode, /) -> None:
        """Takes another node's result where it took the old one's."""
        ...

    def __lt__(self, other: FxNode, /) -> bool: ...
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

    def node_copy(self, node: FxNode, arg_transform: Callable[[FxNode], object], /) -> FxNode:
        """A copy of a node of another graph, with its arguments replaced."""
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

    def inserting_before(self, node: FxNode, /) -> AbstractContextManager[object]:
        """Inserts before a node for a while."""
        ...

    def inserting_after(self, node: FxNode, /) -> AbstractContextManager[object]:
        """Inserts after a node for a while."""
        ...


class FxModule(Protocol):
    """A module with a graph of `torch.fx` as its code."""

    @property
    def graph(self) -> FxGraph:
        """The graph."""
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
    def constants(self) -> Mapping[str, TorchTensor]:
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


class TorchProgram(Exported, Protocol):
    """A `torch.export.ExportedProgram`."""

    def run_decompositions(self, table: Mapping[Any, object], /) -> TorchProgram:
        """The program with the ops of a table decomposed."""
        ...


class TorchDevice(Protocol):
    """A `torch.device`."""

    @property
    def type(self) -> str:
        """`cpu`, `meta`, ..."""
        ...


class TorchTensor(Protocol):
    """A `torch.Tensor`, as far as it is read; a fake one too."""

    @property
    def dtype(self) -> object:
        """Its `torch.dtype`."""
        ...

    @property
    def device(self) -> TorchDevice:
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

    grad: Any
    """Its gradient; None before there is one."""

    def requires_grad_(self) -> TorchTensor:
        """The tensor, whose gradient is computed from here on."""
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

    def float(self) -> TorchTensor:
        """The tensor with 32-bit elements."""
        ...

    def to(self, dtype: object, /) -> TorchTensor:
        """The tensor with another element type."""
        ...

    def is_complex(self) -> bool:
        """True if its elements are complex."""
        ...

    def conj_physical(self) -> TorchTensor:
        """The conjugates of its elements."""
        ...

    def permute(self, *dims: int | Sequence[int]) -> TorchTensor:
        """A view with its dimensions in another order."""
        ...

    def transpose(self, first: int, second: int, /) -> TorchTensor:
        """A view with two dimensions exchanged."""
        ...

    def reshape(self, *shape: int | Sequence[int]) -> TorchTensor:
        """The tensor with another shape."""
        ...

    def expand(self, *sizes: int) -> TorchTensor:
        """A view with dimensions of size 1 repeated."""
        ...

    def flatten(self, first: int, /) -> TorchTensor:
        """The tensor with the dimensions from one on merged."""
        ...

    def unflatten(self, dim: int, sizes: Sequence[int], /) -> TorchTensor:
        """The tensor with a dimension split."""
        ...

    def unbind(self, dim: int, /) -> tuple[TorchTensor, ...]:
        """Its slices along a dimension."""
        ...

    def chunk(self, count: int, /) -> tuple[TorchTensor, ...]:
        """As many parts of the first dimension."""
        ...

    def squeeze(self, dim: int | Sequence[int], /) -> TorchTensor:
        """The tensor without dimensions of size 1."""
        ...

    def unsqueeze(self, dim: int, /) -> TorchTensor:
        """The tensor with one more dimension of size 1."""
        ...

    def sum(self, dims: Sequence[int], /) -> TorchTensor:
        """The sums over dimensions."""
        ...

    def mean(self, dim: int, /) -> TorchTensor:
        """The mean over a dimension."""
        ...

    def new_empty(self, size: Sequence[int], /) -> TorchTensor:
        """A new tensor of its type and device."""
        ...

    def __add__(self, other: TorchTensor | complex, /) -> TorchTensor: ...
    def __sub__(self, other: TorchTensor | complex, /) -> TorchTensor: ...
    def __mul__(self, other: TorchTensor | complex, /) -> TorchTensor: ...
    def __getitem__(self, key: object, /) -> TorchTensor: ...
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

    def state_dict(self) -> dict[str, TorchTensor]:
        """The parameters and buffers by name."""
        ...

    @property
    def forward(self) -> Callable[..., object]:
        """The function that it computes."""
        ...

    def get_submodule(self, target: str, /) -> TorchModule:
        """The module of a path."""
        ...

    def register_forward_pre_hook(self, hook: Hook, /, *, with_kwargs: bool = False) -> HookHandle:
        """A handle of a function that is called before the module."""
        ...

    def register_forward_hook(self, hook: Hook, /, *, with_kwargs: bool = False) -> HookHandle:
        """A handle of a function that is called after the module."""
        ...

    def __call__(self, *arguments: object, **keywords: object) -> Any:
        """The result of the module."""
        ...


class HookHandle(Protocol):
    """The handle of a registered function."""

    def remove(self) -> None:
        """Ends its calls."""
        ...


class SpecKind(Protocol):
    """The kind of an input or output of an exported program, of an enum."""

    @property
    def name(self) -> str:
        """`PARAMETER`, `USER_OUTPUT`, `TOKEN`, ..."""
        ...


class Spec(Protocol):
    """An input or output in the signature of an exported program."""

    @property
    def kind(self) -> SpecKind:
        """Its kind."""
        ...


class GradientContext(Protocol):
    """The context in which a custom op keeps values of its call for its gradient."""

    dims: Sequence[Any]
    """Arguments that are not tensors."""

    def save_for_backward(self, *tensors: object) -> None:
        """Keeps tensors."""
        ...

    @property
    def saved_tensors(self) -> tuple[TorchTensor, ...]:
        """The tensors that were kept."""
        ...

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """True for each argument whose gradient is wanted."""
        ...


class TorchOptimizer(Protocol):
    """A `torch.optim.Optimizer`."""

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Groups of parameters, each with its options."""
        ...

    @property
    def state(self) -> dict[TorchTensor, dict[str, Any]]:
        """The state of each parameter."""
        ...

    def step(self) -> object:
        """Updates the parameters."""
        ...
