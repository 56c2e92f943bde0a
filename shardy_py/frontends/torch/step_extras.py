"""Parts of a step that trainers add: scaled losses, averages of parameters, parts of batches.

    Program.from_torch_training(..., scaler=GradScaler(), average=AveragedModel(model), accumulate=4)

Not here: the step (`training_step.py`), its arguments (`arguments.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shardy_py.api import ShardyError
from shardy_py.api.arguments import expect_flag, expect_integer, expect_number
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch import step_names
from shardy_py.frontends.torch.arguments import StepArgument
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import TorchModule, TorchTensor
from shardy_py.frontends.torch.traced import Traced

Tensors = Mapping[str, TorchTensor]

SCALE, TRACKER, AVERAGED = "loss scale", "growth tracker", "n_averaged"
"""The names of the states that belong to no parameter."""


@dataclass(frozen=True, eq=False)
class LossScaling:
    """`torch.amp.GradScaler`: a step whose gradients are not finite changes nothing but the scale.

    growth, backoff: factors of the scale. interval: the steps in a row after which it grows.
    """

    growth: float
    backoff: float
    interval: int

    @staticmethod
    def of(scaler: Traced) -> LossScaling | None:
        """The scaling of a GradScaler; None without one, or if it is off. Raises `ShardyError` for others."""
        if scaler is None:
            return None
        if not isinstance(scaler, torch_module("torch.amp").GradScaler):
            got = f"the class {scaler.__name__}" if isinstance(scaler, type) else type(scaler).__name__
            raise ShardyError.unexpected("scaler", expected="a torch.amp.GradScaler, or None", got=got)
        if not scaler.is_enabled():
            return None
        factors = scaler.get_growth_factor(), scaler.get_backoff_factor()
        return LossScaling(*factors, scaler.get_growth_interval())

    def slots(self) -> list[StepArgument]:
        """Its states: the scale, and the number of steps since it changed."""
        torch = torch_module("torch")
        tracker = torch.zeros((), dtype=torch.int32)
        return [StepArgument("state", SCALE, torch.ones(())), StepArgument("state", TRACKER, tracker)]

    def unscaled(self, gradients: Tensors, scale: Traced) -> tuple[dict[str, TorchTensor], Traced]:
        """The gradients of the loss itself, and whether an element of one is not finite."""
        torch = torch_module("torch")
        inverse = scale.double().reciprocal().float()
        found = {name: gradient * inverse.to(gradient.dtype) for name, gradient in gradients.items()}
        flags = [torch.logical_not(torch.isfinite(gradient)).any() for gradient in gradients.values()]
        return found, torch.stack(flags).any()

    def after(self, before: Tensors, made: Tensors, overflows: Traced) -> dict[str, TorchTensor]:
        """The parameters and states after a step, which are those before if gradients are not finite."""
        torch = torch_module("torch")
        kept = {name: torch.where(overflows, before[name], new) for name, new in made.items()}
        states: list[Traced] = [before[name].clone() for name in (SCALE, TRACKER)]
        scale, tracker = states
        grown = (tracker + 1) == self.interval
        larger: Traced = scale * self.growth
        larger = torch.where(torch.isfinite(larger), larger, scale)
        kept[SCALE] = torch.where(overflows, scale * self.backoff, torch.where(grown, larger, scale))
        kept[TRACKER] = torch.where(overflows | grown, torch.zeros_like(tracker), tracker + 1)
        return kept


@dataclass(frozen=True, eq=False)
class Averaging:
    """`torch.optim.swa_utils.AveragedModel`: averages of parameters, as EMA, after the first.

    names: of what is averaged.
    """

    model: Traced
    names: tuple[str, ...]

    @staticmethod
    def of(average: Traced, model: TorchModule) -> Averaging | None:
        """The averaging of an AveragedModel; None without one. Raises `ShardyError` for other objects."""
        if average is None:
            return None
        if not isinstance(average, torch_module("torch.optim.swa_utils").AveragedModel):
            got = type(average).__name__
            raise ShardyError.unexpected(
                "average", expected="an AveragedModel of the model, or None", got=got
            )
        shapes = {name: tensor.shape for name, tensor in model.named_parameters()}
        if {name: tensor.shape for name, tensor in average.module.named_parameters()} != shapes:
            raise ShardyError("average is of a model with other parameters; pass AveragedModel(model)")
        buffers = [name for name, _ in model.named_buffers()] if average.use_buffers else []
        return Averaging(average, (*shapes, *buffers))

    def slots(self, tensors: Tensors) -> list[StepArgument]:
        """The averages, and their count; tensors: parameters and buffers by name."""
        torch = torch_module("torch")
        own = [
            StepArgument("state", step_names.state("average", name), torch.empty_like(tensors[name]), name)
            for name in self.names
        ]
        return [*own, StepArgument("state", AVERAGED, torch.zeros((), dtype=torch.int64))]

    def after(self, before: Tensors, made: Tensors) -> dict[str, TorchTensor]:
        """The averages with the parameters of a step; made: those that changed."""
        swa = torch_module("torch.optim.swa_utils")
        count: Traced = before[AVERAGED]
        averages: list[Traced] = [before[step_names.state("average", name)].clone() for name in self.names]
        newest: list[Traced] = [made.get(name, before[name]).detach() for name in self.names]
        if self.model.multi_avg_fn is None:
            function: Callable[..., TorchTensor] = self.model.avg_fn or swa.get_swa_avg_fn()
            averages = [function(*pair, count) for pair in zip(averages, newest, strict=True)]
        else:
            self._in_groups(averages, newest, count)
        named = {step_names.state("average", n): a for n, a in zip(self.names, averages, strict=True)}
        return {**named, AVERAGED: count + 1}

    def _in_groups(self, averages: Sequence[Traced], newest: Sequence[Traced], count: TorchTensor) -> None:
        """Averages those of one element type at a time, as torch does."""
        for dtype in dict.fromkeys(average.dtype for average in averages):
            places = [place for place, average in enumerate(averages) if average.dtype == dtype]
            ours, theirs = ([tensors[place] for place in places] for tensors in (averages, newest))
            self.model.multi_avg_fn(ours, theirs, count)


@dataclass(frozen=True, eq=False)
class TrainerOptions:
    """The options of a step beside model, loss and optimizer.

    max_norm: of the gradients, which are clipped to it. learning_rate: whether the rate is an argument.
    parts: of the batch, whose gradients are averaged.
    """

    max_norm: float | None
    learning_rate: bool
    scaling: LossScaling | None
    average: Averaging | None
    parts: int

    @staticmethod
    def of(
        model: TorchModule,
        max_norm: float | None,
        learning_rate: bool,
        scaler: object,
        average: object,
        parts: int,
    ) -> TrainerOptions:
        """Raises `ShardyError` for options of another kind."""
        if max_norm is not None:
            expect_number("max_norm", max_norm)
        expect_flag("learning_rate", learning_rate)
        expect_integer("accumulate", parts, 1)
        averaging = Averaging.of(average, model)
        return TrainerOptions(max_norm, learning_rate, LossScaling.of(scaler), averaging, parts)

    def slots(self, tensors: Tensors) -> list[StepArgument]:
        """The states of these; tensors: parameters and buffers by name."""
        scales = [] if self.scaling is None else self.scaling.slots()
        return scales + ([] if self.average is None else self.average.slots(tensors))
