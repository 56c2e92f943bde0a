"""Arguments of modules in the order of their calls, as styles of DTensor count them.

    module(freqs, x)        the op that uses x may come first, and one may be used by none

While torch traces or exports, the arguments of modules with `PrepareModuleInput` go through an identity with
their number. In the program, its place is that of the argument; the identity goes.

Not here: gradients at the same places (`boundaries.py`), the constraints (`constraints.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager

from xdsl.ir import Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.boundaries import boundary_name, boundary_op, copy_layout
from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.plans import ParallelPlan
from shardy_py.frontends.torch.protocols import TorchModule
from shardy_py.frontends.torch.styles import Style
from shardy_py.frontends.torch.traced import Traced
from shardy_py.mlir.dialects.stablehlo import CustomCallOp
from shardy_py.mlir.ir import erase, operands_of, replace_uses
from shardy_py.mlir.module_paths import is_in, outer_name

ARGUMENT = "argument"


@dataclass(frozen=True)
class ArgumentUses:
    """An argument of one call of a module: the ops in the module that use it, with the operand's number."""

    uses: tuple[tuple[Operation, int], ...]

    @property
    def users(self) -> list[Operation]:
        """The ops, each once."""
        return list(dict.fromkeys(op for op, _ in self.uses))

    @property
    def value(self) -> SSAValue:
        """The value that they use now: constraints of a module around may have replaced it."""
        op, number = self.uses[0]
        return operands_of(op)[number]


@contextmanager
def numbered_arguments(model: TorchModule, plan: ParallelPlan | None) -> Generator[None]:
    """Within it, arguments of modules whose styles list their inputs are marked."""
    with ExitStack() as stack:
        for each in plan.styled if plan else ():
            if each.style.inputs and not each.style.takes_parameters:
                module = model.get_submodule(each.module.path)
                hook = _marking(each.module.path, each.style)
                # Last of all hooks: those of the model itself may change arguments.
                stack.callback(module.register_forward_pre_hook(hook, with_kwargs=True).remove)
        yield


def _marking(path: str, style: Style) -> Callable[..., object]:
    def marked(value: Traced, number: int) -> object:
        # What a checkpoint computes again has the constraints of the backward pass.
        is_again = torch_module("torch")._C._current_autograd_node() is not None
        if number >= len(style.inputs) or not style.inputs[number] or not is_tensor(value) or is_again:
            return value
        return copy_layout(value, boundary_op()(value, boundary_name(path, ARGUMENT, number)))

    def hook(
        module: TorchModule, arguments: tuple[object, ...], keywords: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        first = len(style.inputs) - len(style.keywords)
        numbers = {name: number for number, name in enumerate(style.keywords, first)}
        positional = (marked(v, n) if n < first else v for n, v in enumerate(arguments))
        named = {k: marked(v, numbers[k]) if k in numbers else v for k, v in keywords.items()}
        return tuple(positional), named

    return hook


def taken_arguments(found: dict[str, list[CustomCallOp]]) -> dict[str, list[ArgumentUses]]:
    """Returns the marked arguments by the name of their mark, and removes the marks.

    found: the boundaries of a module (`boundaries_in`), from which these are taken.
    """
    marks = {name: found.pop(name) for name in [*found] if f"/{ARGUMENT} " in name}
    taken: dict[str, list[ArgumentUses]] = {}
    for name, each in marks.items():
        path = name.rpartition("/")[0]
        for mark in each:
            used = [(use.operation, use.index) for use in mark.results[0].uses]
            uses = [(op, index) for op, index in used if is_in(outer_name(op), path)]
            if uses:
                taken.setdefault(name, []).append(ArgumentUses(tuple(uses)))
    for mark in (mark for each in marks.values() for mark in each):
        replace_uses(mark.results[0], operands_of(mark)[0])
        erase(mark)
    return taken
