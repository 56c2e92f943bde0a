"""Training steps against torch: gradients, and parameters after a step of AdamW.

    python -m tests.frontends.training [part of a name ...] [--markdown]

For each model: parameters, whether its step converts, the largest relative error of a gradient and of a new
parameter, buffer or state, against `loss.backward()` and `optimizer.step()`. Run by the interpreter.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardy_py import Program
from tests.frontends.test_aten import as_array
from tests.frontends.torch_models import torch
from tests.frontends.training_models import SOURCES, Example

Optimizer = Callable[[Any], Any]


def adamw(parameters: Any) -> Any:
    """The optimizer of the survey."""
    return torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1)


@dataclass(frozen=True)
class Compared:
    """The largest errors of a step, each relative to the largest element of torch's tensor."""

    loss: float
    gradients: float
    results: float
    parameters: int
    program: Program


def relative(found: Any, expected: Any, scale: float) -> float:
    """The largest difference over the largest element of the tensor, or over `scale` if that is larger."""
    expected = np.asarray(expected, np.float64)
    found = np.asarray(found, np.float64)
    assert found.shape == expected.shape
    if not np.isfinite(found).all():
        return np.inf
    return float(np.abs(found - expected).max(initial=0) / max(np.abs(expected).max(initial=0), scale))


def eager(example: Example, model: Any) -> Any:
    """torch's loss of a model."""
    keywords = dict(example.inputs) if isinstance(example.inputs, Mapping) else {}
    output = model(*(() if keywords else example.inputs), **keywords)
    if example.loss is not None:
        return example.loss(output, *example.targets)
    return output["loss"]


def compare(example: Example, make: Optimizer = adamw, **options: Any) -> Compared:
    """The second step of a model, so that the optimizer has states, by our program and by torch."""
    example = example.doubled() if example.is_double else example
    model = example.model.train()
    optimizer = make(model.parameters())
    program = Program.from_torch_training(
        model, example.loss, optimizer, example.inputs, targets=example.targets, gradients=True, **options
    )
    eager(example, model).backward()
    optimizer.step()
    optimizer.zero_grad()
    given = _arguments(program, example, model, optimizer)
    loss = eager(example, model)
    loss.backward()
    if options.get("max_norm") is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), options["max_norm"])
    gradients = {f"{n} gradient": p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    found = program.run(given)
    values = dict(zip([value.label for value in program.values.results()], found.values(), strict=True))
    assert {name for name in values if name.endswith(" gradient")} == {*gradients}
    # The optimizer gets our gradients: Adam gives those that are 0 but for rounding any sign.
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            parameter.grad = torch.as_tensor(np.array(values[f"{name} gradient"], order="C")).to(
                parameter.dtype
            )
    optimizer.step()
    labels = {value.label for value in program.values.arguments()}
    after = {f"{name} after": value for name, value in _tensors(model, optimizer, labels).items()}
    assert {name for name in values if name.endswith(" after")} <= {*after}
    largest = max((float(g.abs().max()) for g in gradients.values()), default=1.0)
    return Compared(
        relative(values["loss"], as_array(loss.detach()), 1e-3),
        max(relative(values[n], as_array(g), 1e-3 * largest) for n, g in gradients.items()),
        max(
            relative(values.get(n, given_), as_array(v.detach()), 1e-3)
            for n, v, given_ in _kept(after, given, program)
        ),
        sum(p.numel() for p in model.parameters()),
        program,
    )


def _kept(after: dict[str, Any], given: list[Any], program: Program) -> list[tuple[str, Any, Any]]:
    """Each tensor after torch's step, with the argument that it is if the program does not change it."""
    before = dict(zip([value.label for value in program.values.arguments()], given, strict=True))
    return [(name, tensor, before[name.removesuffix(" after")]) for name, tensor in after.items()]


def _tensors(model: Any, optimizer: Any, labels: Collection[str]) -> dict[str, Any]:
    """Parameters, buffers and states by the names that they have as arguments, whose labels are given."""
    found = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor):
                own = f"{key} of {name}"
                found[own if value.ndim or own in labels else key] = value
    return found


def _arguments(program: Program, example: Example, model: Any, optimizer: Any) -> list[Any]:
    pytree = torch.utils._pytree
    leaves = pytree.tree_leaves((example.inputs, example.targets))
    rest = iter([leaf for leaf in leaves if isinstance(leaf, torch.Tensor)])
    labels = [value.label for value in program.values.arguments()]
    known = {name: tensor.detach().clone() for name, tensor in _tensors(model, optimizer, labels).items()}
    rates = {"lr": optimizer.param_groups[0]["lr"]}
    return [
        as_array(known[n]) if n in known else np.float32(rates[n]) if n in rates else as_array(next(rest))
        for n in labels
    ]


def main(wanted: list[str], *, markdown: bool = False) -> int:
    """Prints the table; returns the number of models that fail."""
    warnings.simplefilter("ignore")
    line = _markdown_line if markdown else _line
    print(line("model", "parameters", "converted", "gradients", "results", "seconds"))
    if markdown:
        print(line(*["---"] * 6))
    failed = total = 0
    for package, examples in SOURCES.items():
        try:
            made = examples()
        except ImportError as error:
            print(f"{package}: skipped, {error}")
            continue
        for name, make in made.items():
            if wanted and not any(part in name for part in wanted):
                continue
            torch.manual_seed(0)
            total += 1
            start = time.process_time()
            try:
                example = make()
                found = compare(example)
            except Exception as error:  # the table has every model
                failed += 1
                print(line(name, "", "no", f"{type(error).__name__}: {str(error)[:300]}"), flush=True)
                continue
            # Optimizers count steps in f32.
            bound = 1e-5 if example.is_double else 6e-2
            good = max(found.gradients, found.loss) < bound and found.results < max(bound, 1e-4)
            failed += not good
            errors = [f"{found.gradients:.1e}", f"{found.results:.1e}"]
            seconds = f"{time.process_time() - start:.1f}{'' if good else '  differs'}"
            print(line(name, f"{found.parameters:,}", "yes", *errors, seconds), flush=True)
    print(f"{total - failed} of {total} steps equal torch's")
    return failed


def _line(name: str, *parts: str) -> str:
    return " ".join([f"{name:34}", *(f"{part:>10}" for part in parts)])


def _markdown_line(*parts: str) -> str:
    return f"| {' | '.join(parts)} |"


if __name__ == "__main__":
    names = [part for part in sys.argv[1:] if part != "--markdown"]
    sys.exit(bool(main(names, markdown="--markdown" in sys.argv)))
