"""Parameters that are tensors around others, as quantized weights of torchao are: the others are arguments.

    exported = unwrapped(exported)      0.weight becomes 0.weight.qdata, 0.weight.scale, ...

Any class with torch's protocol (`__tensor_flatten__`) will do; what it computes is in the exported graph.
Not here: nested, sparse and quantized tensors, which are no such classes (`arguments.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shardy_py.api import ShardyError
from shardy_py.frontends.torch.arguments import check_whole
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import TorchProgram
from shardy_py.frontends.torch.traced import Traced


class InnerName(str):
    """The name of a tensor in a parameter: `0.weight.scale`. parameter: the name of that, `0.weight`."""

    __slots__ = ("parameter",)
    parameter: str

    def __new__(cls, parameter: str, path: str) -> InnerName:
        """The name of the tensor at a path of attributes."""
        name = super().__new__(cls, f"{parameter}.{path}")
        name.parameter = parameter
        return name


def parameter_of(name: str) -> str:
    """The name of the parameter that a tensor is in; of another, its own."""
    return name.parameter if isinstance(name, InnerName) else name


def unwrapped(exported: TorchProgram) -> TorchProgram:
    """The program with the tensors in parameters and buffers in place of those, which torch unwraps.

    Itself if it has none, or is not an exported program. Raises `ShardyError` for DTensors.
    """
    kind = torch_module("torch.export").ExportedProgram
    states: Mapping[str, object] = exported.state_dict if isinstance(exported, kind) else {}
    for name, tensor in states.items():
        check_whole(tensor, name)
    names = {
        f"{_parametrized(name)}{number}": InnerName(name, path)
        for name, tensor in states.items()
        for number, path in enumerate(_paths(tensor))
    }
    if not names:
        return exported
    plain: Traced = exported.run_decompositions({})
    for spec in plain.graph_signature.input_specs:
        spec.target = names.get(spec.target, spec.target)
    for old in names.keys() & plain.state_dict.keys():
        plain.state_dict[names[old]] = plain.state_dict.pop(old)
    return plain


def check_plain(model: Traced) -> None:
    """Raises `ShardyError` for a model whose parameters or buffers have tensors in them."""
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if any(_paths(tensor)):
            raise ShardyError.unexpected(
                name,
                expected="a plain tensor",
                got=type(tensor).__name__,
                remedy="have the tensors in it as parameters, by parametrizations, as "
                "torchao.utils.unwrap_tensor_subclass does",
            )


def _parametrized(name: str) -> str:
    """The start of the names that torch gives the tensors in a parameter: it is parametrized by them."""
    module, dot, own = name.rpartition(".")
    return f"{module}{dot}parametrizations.{own}.original"


def _paths(tensor: Traced) -> Iterator[str]:
    """The paths of the tensors in a tensor, in torch's order; none for a plain one."""
    is_wrapper = torch_module("torch.utils._python_dispatch").is_traceable_wrapper_subclass
    if not is_wrapper(tensor) or tensor.is_nested:  # nested ones are refused as inputs
        return
    for name in tensor.__tensor_flatten__()[0]:
        inner = [*_paths(getattr(tensor, name))]
        yield from (f"{name}.{path}" for path in inner)
        if not inner:
            yield name
