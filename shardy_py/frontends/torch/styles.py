"""The styles of `torch.distributed.tensor.parallel`: how each shards a module's parameters, inputs, outputs.

    style_of(ColwiseParallel(), "layers.0.mlp.up", "torch.nn.modules.linear.Linear").outputs
    ((Shard(dim=-1),),)

An input or output has the layouts it passes through: that of a plain tensor, then the wanted one.
Not here: plans (`plans.py`), constraints in the program (`constraints.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Protocol, cast

from shardy_py.api import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.placements import torch_module

Layouts = tuple[object, ...]
"""Placements along the axis of the plan, one after the other; () for what stays as it is."""


class TorchStyle(Protocol):
    """A style of torch.distributed.tensor.parallel; each class has some of these."""

    @property
    def input_layouts(self) -> Sequence[object]:
        """The placements of the inputs as they come."""
        ...

    @property
    def desired_input_layouts(self) -> Sequence[object]:
        """The placements of the inputs in the module."""
        ...

    @property
    def input_kwarg_layouts(self) -> Mapping[str, object]:
        """The placements of keywords as they come."""
        ...

    @property
    def desired_input_kwarg_layouts(self) -> Mapping[str, object]:
        """The placements of keywords in the module."""
        ...

    @property
    def output_layouts(self) -> Layouts:
        """The placements of the outputs."""
        ...

    @property
    def desired_output_layouts(self) -> Sequence[object]:
        """The placements that outputs get."""
        ...

    @property
    def use_local_output(self) -> bool:
        """True if what the style redistributes becomes a plain tensor."""
        ...

    @property
    def sequence_sharding(self) -> Layouts:
        """The placement of inputs and outputs of SequenceParallel."""
        ...

    @property
    def prepare_module_input(self) -> TorchStyle:
        """The style of the inputs."""
        ...

    @property
    def prepare_module_output(self) -> TorchStyle:
        """The style of the outputs."""
        ...


_EVERY = "*"
"""All parameters that a style does not name."""


@dataclass(frozen=True)
class Style:
    """A style on one module.

    dimensions: the dimension of a parameter that is sharded, by its name in the module or `*`.
    inputs, outputs: the layouts of each in order. keywords: the names of the last inputs.
    computed: the layout in which the module computes its output, before it gets its layouts; of a sum it is
        Replicate(), which its gradient gets. is_lookup: of an embedding sharded by rows: its result is a sum.
    takes_parameters: whether it places the module's parameters, as DTensors.
    takes_local: whether the module gets plain tensors as inputs, whose gradients have their layout.
    """

    dimensions: Mapping[str, int] = field(default_factory=dict[str, int])
    inputs: tuple[Layouts, ...] = ()
    outputs: tuple[Layouts, ...] = ()
    keywords: tuple[str, ...] = ()
    computed: Layouts = ()
    is_lookup: bool = False
    takes_parameters: bool = False
    takes_local: bool = False

    def parameters(self, name: str) -> int | None:
        """The sharded dimension of a parameter of the module; None for a replicated one."""
        return self.dimensions.get(name, self.dimensions.get(_EVERY))

    def each_input(self, count: int) -> tuple[Layouts, ...]:
        """The layouts of so many inputs: a module with parameters has one in each call."""
        return self.inputs * max(1, count) if self.takes_parameters else self.inputs

    def each_output(self, count: int) -> tuple[Layouts, ...]:
        """The layouts of so many outputs, as those of inputs."""
        return self.outputs * count if self.takes_parameters else self.outputs

    def input_gradient(self, number: int) -> Layouts:
        """The layouts of the gradient of an input: that of the plain tensor, as which it is summed.

        A module that takes plain tensors gives the gradient in their layout first.
        """
        return (*reversed(self.inputs[number]),) if self.takes_local else self.inputs[number][:1]

    def output_gradient(self, number: int) -> Layouts:
        """The layouts of the gradient of an output: those of the output, the last one first."""
        return (*reversed(self.outputs[number]), *self.computed)


def style_of(given: Any, path: str, kind: str) -> Style:
    """The style on a module of a class. Raises `ShardyError` for other styles, and classes torch refuses."""
    if _is_of_experts(given):
        return _experts()
    for base in type(given).__mro__:
        row = _ROWS.get(base.__name__)
        if row is not None and base.__module__.startswith("torch.distributed.tensor.parallel"):
            if cast(Any, type(given))._apply is not cast(Any, base)._apply:
                break
            return row(given, path, kind)
    if isinstance(given, type):
        expected, got = f"an object, such as {given.__name__}()", f"the class {given.__name__}"
        raise ShardyError.unexpected(f"style of '{path}'", expected=expected, got=got)
    known = ", ".join((*_ROWS, "torchtitan's ExpertParallel"))
    raise ShardyError.unsupported(
        f"style {type(given).__name__} of '{path}'",
        remedy=f"use one of {known}, or shardings by name for its parameters and module outputs",
    )


def _columns(given: TorchStyle, path: str, kind: str) -> Style:
    is_table = _is_table(given, path, kind)
    types = torch_module("torch.distributed.tensor")
    return Style(
        {_EVERY: 1 if is_table else 0},
        inputs=(_both(given.input_layouts[0], types.Replicate()),),
        outputs=(given.output_layouts,),
        computed=(types.Shard(-1),),
        takes_parameters=True,
    )


def _rows(given: TorchStyle, path: str, kind: str) -> Style:
    types = torch_module("torch.distributed.tensor")
    is_table = _is_table(given, path, kind)
    wanted = types.Replicate() if is_table else types.Shard(-1)
    return Style(
        {"weight": 0 if is_table else 1},
        inputs=(_both(given.input_layouts[0], wanted),),
        outputs=(given.output_layouts,),
        computed=(types.Replicate(),),
        is_lookup=is_table,
        takes_parameters=True,
    )


def _sequence(given: TorchStyle, path: str, kind: str) -> Style:
    sharded = (given.sequence_sharding,)
    return Style(inputs=sharded, outputs=sharded, takes_parameters=True)


def _input(given: TorchStyle, path: str, kind: str) -> Style:
    pairs = [*zip(given.input_layouts or (), given.desired_input_layouts or (), strict=True)]
    named = given.input_kwarg_layouts
    pairs += [(named[key], given.desired_input_kwarg_layouts.get(key)) for key in named]
    inputs = tuple(_both(*pair) for pair in pairs)
    return Style(inputs=inputs, keywords=tuple(named), takes_local=given.use_local_output)


def _output(given: TorchStyle, path: str, kind: str) -> Style:
    pairs = zip(given.output_layouts, given.desired_output_layouts, strict=True)
    return Style(outputs=tuple(_both(*pair) for pair in pairs))


def _input_output(given: TorchStyle, path: str, kind: str) -> Style:
    before = _input(given.prepare_module_input, path, kind)
    after = _output(given.prepare_module_output, path, kind)
    return replace(before, outputs=after.outputs)


def _is_of_experts(given: object) -> bool:
    """Returns whether a style is torchtitan's `ExpertParallel`, or one that shards parameters as it does."""
    own = type(given)
    base = next((each for each in own.__mro__ if each.__name__ == "ExpertParallel"), None)
    return base is not None and all(
        getattr(own, name, None) is getattr(base, name, None) for name in ("_apply", "_partition_fn")
    )


def _experts() -> Style:
    """Experts on their devices: inputs and outputs are in their order, so what enters is sent to them."""
    first = (torch_module("torch.distributed.tensor").Shard(0),)
    return Style({_EVERY: 0}, inputs=(first,), outputs=(first,), computed=first, takes_parameters=True)


_ROWS: dict[str, Callable[[TorchStyle, str, str], Style]] = {
    "ColwiseParallel": _columns,
    "RowwiseParallel": _rows,
    "SequenceParallel": _sequence,
    "PrepareModuleInput": _input,
    "PrepareModuleOutput": _output,
    "PrepareModuleInputOutput": _input_output,
}


def _both(given: object, wanted: object) -> Layouts:
    """The layouts of a tensor that is redistributed from one to the other; () for one that is left alone."""
    if given is None:
        return ()
    return (given,) if wanted is None or wanted == given else (given, wanted)


def class_of(kind: type | str) -> type | None:
    """The class of a module, itself or by its name; None for one that is not imported."""
    if isinstance(kind, type):
        return kind
    module, _, name = kind.rpartition(".")
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) else None


def name_of_class(kind: type | str) -> str:
    """The name of the class of a module with that of where it is."""
    return kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"


def takes_styles(found: type | None) -> bool:
    """Returns whether `ColwiseParallel` and `RowwiseParallel` take modules of a class."""
    nn = torch_module("torch.nn")
    return found is not None and issubclass(found, nn.Linear | nn.Embedding)


def _is_table(given: object, path: str, kind: str) -> bool:
    """Returns whether the module is an embedding. Raises `ShardyError` unless it is that or linear."""
    found = class_of(kind)
    if found is not None and takes_styles(found):
        return issubclass(found, torch_module("torch.nn").Embedding)
    raise ShardyError.unexpected(
        f"{type(given).__name__} of '{path}'",
        expected="a module nn.Linear or nn.Embedding, as torch does",
        got=kind or "a module without ops of its own",
    )
