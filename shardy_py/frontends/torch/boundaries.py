"""Marks the gradients of a training step at the boundaries of a plan: of modules with styles, of parameters.

DTensor redistributes the gradient where it redistributed the value: all parts of the gradient of a module's
input are summed first. Which values of the backward pass these are is known while torch traces it only, so
each becomes the operand of a `shardy_py::boundary`, which `constraints.py` replaces by constraints.

    with Boundaries(plan).watching(model):
        loss = model(x)         the gradient of each styled module's input becomes an operand of the op

Not here: the op's row (`aten/boundary.py`), the other ops of a step (`trace.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.narrowing import is_sequence
from shardy_py.base.records import dataclass
from shardy_py.frontends.aten.boundary import TARGET
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.plans import ParallelPlan
from shardy_py.frontends.torch.protocols import TorchModule, TorchTensor
from shardy_py.frontends.torch.styles import Style
from shardy_py.mlir.dialects.stablehlo import CustomCallOp
from shardy_py.mlir.ir import find_ops
from shardy_py.mlir.module_paths import GATHERS
from shardy_py.mlir.typed import text_of

NAME = "shardy_py::boundary"
AGAIN = "again"
"""The end of the name of a boundary at which a checkpoint computes a value again."""
INPUTS, OUTPUTS, PARAMETER = "input_layouts", "output_layouts", GATHERS
PARTS = "input_parts"
"""The mark of an input that a module around has redistributed: gradients of all its uses are one sum."""


def boundary_name(path: str, what: str, which: int | str) -> str:
    """The name of a boundary: `layers.0.up/input_layouts 0`, or of a parameter: `/fully_shard up.weight`."""
    return f"{path}/{what} {which}"


def boundaries_in(module: ModuleOp) -> dict[str, list[CustomCallOp]]:
    """The boundaries in a module by name."""
    found: dict[str, list[CustomCallOp]] = {}
    for op in find_ops(module, CustomCallOp.name):
        if isinstance(op, CustomCallOp) and op.call_target_name.data == TARGET:
            found.setdefault(text_of(op, "backend_config"), []).append(op)
    return found


@cache
def boundary_op() -> Any:
    """The op `shardy_py::boundary(x, name)` of torch, which is x."""

    def same(x: TorchTensor, name: str) -> TorchTensor:
        return x.clone()

    def shape(x: TorchTensor, name: str) -> TorchTensor:
        return x.new_empty(x.shape)

    def gradient(_: object, grad: object) -> tuple[object, None]:
        return grad, None

    library = torch_module("torch").library
    op = library.custom_op(NAME, same, mutates_args=(), schema="(Tensor x, str name) -> Tensor")
    op.register_fake(shape)
    op.register_autograd(gradient)
    return torch_module("torch").ops.shardy_py.boundary.default


@dataclass(frozen=True)
class Boundaries:
    """The boundaries of a plan; of None there are none."""

    plan: ParallelPlan | None

    @contextmanager
    def watching(self, model: TorchModule) -> Generator[None]:
        """Within it, gradients of the inputs and outputs of modules with styles are marked."""
        styled = () if self.plan is None else self.plan.styled
        with ExitStack() as stack:
            for each in styled:
                path, style = each.module.path, each.style
                module = model.get_submodule(path)
                for register, hook in (
                    (module.register_forward_pre_hook, _marking_inputs(path, style)),
                    (module.register_forward_hook, _marking_outputs(path, style)),
                ):
                    stack.callback(register(hook, with_kwargs=True).remove)
            yield

    def of_parameters(self, gradients: Mapping[str, TorchTensor]) -> dict[str, TorchTensor]:
        """The gradients by name, those of fully sharded parameters marked."""
        sharded = {name for group in (self.plan.groups if self.plan else ()) for name in group.parameters}
        return {
            name: boundary_op()(gradient, boundary_name("", PARAMETER, name))
            if name in sharded and gradient.ndim
            else gradient
            for name, gradient in gradients.items()
        }


def _marking_inputs(path: str, style: Style) -> Callable[..., object]:
    def hook(
        module: TorchModule, arguments: tuple[object, ...], keywords: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        count = len(style.inputs) - len(style.keywords)
        positional = [
            _input(value, path, style, number) if number < count else value
            for number, value in enumerate(arguments)
        ]
        named = {
            name: _input(keywords[name], path, style, number)
            for number, name in enumerate(style.keywords, count)
            if name in keywords
        }
        return tuple(positional), keywords | named

    return hook


def _marking_outputs(path: str, style: Style) -> Callable[..., object]:
    def hook(module: TorchModule, arguments: object, keywords: object, output: object) -> object:
        listed = isinstance(output, tuple | list)
        given: Sequence[object] = output if is_sequence(output) else (output,)
        marked = [
            _marked(value, path, OUTPUTS, number)
            if number < len(style.outputs) and style.outputs[number]
            else value
            for number, value in enumerate(given)
        ]
        return (tuple(marked) if isinstance(output, tuple) else marked) if listed else marked[0]

    return hook


def _input(value: object, path: str, style: Style, number: int) -> object:
    """An input, marked; as a part, where a module around this one has given it the layout already."""
    layouts = style.inputs[number]
    if not layouts:
        return value
    is_part = getattr(value, _LAYOUT, None) == layouts[0] == layouts[-1]
    marked = _marked(value, path, PARTS if is_part else INPUTS, number)
    if marked is not value:
        setattr(marked, _LAYOUT, layouts[-1])
    return marked


_LAYOUT = "_shardy_layout"
"""The attribute of a marked input with its layout in the module."""


def copy_layout(value: object, new: object) -> object:
    """Returns a tensor that stands for a marked input, with its layout."""
    if hasattr(value, _LAYOUT):
        setattr(new, _LAYOUT, getattr(value, _LAYOUT))
    return new


def _marked(value: Any, path: str, what: str, number: int) -> object:
    """The value as another tensor, whose gradient is marked; itself if it has none.

    A value that a checkpoint computes again in the backward pass is marked itself.
    """
    torch = torch_module("torch")
    if not isinstance(value, torch.Tensor) or not value.requires_grad:
        return value
    op = boundary_op()
    if torch._C._current_autograd_node() is not None:
        return value if what == PARTS else op(value, boundary_name(path, what, f"{number} {AGAIN}"))
    name, alias = boundary_name(path, what, number), torch.ops.aten.alias(value)

    def mark(gradient: object) -> object:
        return op(gradient, name)

    alias.register_hook(mark)
    return alias
