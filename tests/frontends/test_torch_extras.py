"""Steps with scaled losses, averages of parameters, and batches in parts, against torch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, P, Program, ShardyError, propagate
from shardy_py.frontends.torch import FullyShard, launches, placements_of

pytestmark = pytest.mark.torch
nn, F = torch.nn, torch.nn.functional
swa = torch.optim.swa_utils


class Normed(nn.Module):
    """With a buffer that changes in each part of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm, self.down = nn.Linear(4, 8, bias=False), nn.BatchNorm1d(8), nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        return self.down(torch.relu(self.norm(self.up(x))))


def run(program: Program, **values: Any) -> dict[str, Any]:
    """The results of a program by name, given arguments by name."""
    given = [np.asarray(values[value.label or ""]) for value in program.values.arguments()]
    labels = [value.label or "" for value in program.values.results()]
    return dict(zip(labels, program.run(given).values(), strict=True))


def tensors(model: Any, optimizer: Any) -> dict[str, Any]:
    """Parameters, buffers and states by the names of a step."""
    found = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    names = {parameter: name for name, parameter in model.named_parameters()}
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            found[key if key == "step" else f"{key} of {names[parameter]}"] = torch.as_tensor(value).clone()
    return found


def assert_after(found: Any, expected: dict[str, Any]) -> None:
    for name, tensor in expected.items():
        if name != "norm.num_batches_tracked":
            np.testing.assert_allclose(found[f"{name} after"], tensor, rtol=1e-4, atol=1e-6, err_msg=name)


def with_momentum(model: Any) -> Any:
    """An optimizer with few ops and a state; those with more are in `test_torch_training.py`."""
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def trained(**options: Any) -> tuple[Any, Any, Any, Any]:
    """A model after a step, its optimizer, and a batch in two parts."""
    torch.manual_seed(0)
    model, parts = Normed(), [(torch.randn(6, 4), torch.randn(6, 2)) for _ in range(2)]
    optimizer = with_momentum(model)
    program = Program.from_torch_training(
        *(model, F.mse_loss, optimizer, parts[0][:1]), targets=parts[0][1:], **options
    )
    F.mse_loss(model(parts[1][0]), parts[1][1]).backward()
    optimizer.step()
    optimizer.zero_grad()
    return model, optimizer, parts, program


def test_gradients_of_parts_are_added() -> None:
    model, optimizer, parts, program = trained(accumulate=2)
    before = tensors(model, optimizer)
    (x, y), (x1, y1) = parts
    found = run(program, **before, **{"x": x, "x 1": x1, "target": y, "target 1": y1})
    losses = [F.mse_loss(model(x), y) for x, y in parts]
    for loss in losses:
        (loss / 2).backward()
    optimizer.step()
    np.testing.assert_allclose(found["loss"], sum(losses).item() / 2, rtol=1e-5)
    assert_after(found, tensors(model, optimizer))
    assert {"norm.running_mean after", "up.weight after", "momentum_buffer of up.weight after"} <= {*found}


@pytest.mark.parametrize("overflows", [False, True])
def test_scaled_losses(overflows: bool) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=3)
    model, optimizer, parts, program = trained(scaler=scaler, max_norm=0.5)
    x, y = parts[0]
    x = x / 0 if overflows else x
    before = tensors(model, optimizer)
    given = {"x": x, "target": y, "loss scale": np.float32(4), "growth tracker": np.int32(2)}
    found = run(program, **before, **given)
    scaler.scale(F.mse_loss(model(x), y)).backward()
    scaler._init_growth_tracker = 2
    scaler._growth_tracker.fill_(2)
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    scaler.step(optimizer)
    scaler.update()
    after = tensors(model, optimizer)
    assert_after(found, {n: t for n, t in after.items() if not n.startswith("norm.running")})
    assert float(found["loss scale after"]) == scaler.get_scale() == (2.0 if overflows else 8.0)
    assert int(found["growth tracker after"]) == scaler._get_growth_tracker() == 0
    assert np.array_equal(found["up.weight after"], before["up.weight"]) == overflows


@pytest.mark.parametrize(
    "options",
    [
        {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9), "use_buffers": True},
        {"avg_fn": lambda average, new, count: average + (new - average) / (count + 2)},
        {},
    ],
)
def test_averages_of_parameters(options: Any) -> None:
    torch.manual_seed(0)
    model, x, y = Normed(), torch.randn(6, 4), torch.randn(6, 2)
    optimizer, average = with_momentum(model), swa.AveragedModel(model, **options)
    program = Program.from_torch_training(
        model, F.mse_loss, optimizer, (x,), targets=(y,), average=average, scaler=torch.amp.GradScaler("cpu")
    )

    def step() -> None:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        average.update_parameters(model)

    step()
    before = tensors(model, optimizer)
    averages = copy.deepcopy(average.module).state_dict()
    before |= {f"average of {name}": tensor for name, tensor in averages.items()}
    given = {"x": x, "target": y, "loss scale": np.float32(4), "growth tracker": np.int32(0), "n_averaged": 1}
    found = run(program, **before, **given)
    step()
    own = (
        average.module.state_dict() if options.get("use_buffers") else dict(average.module.named_parameters())
    )
    assert {f"average of {name} after" for name in own} <= {*found}
    assert_after(found, {f"average of {name}": tensor.detach() for name, tensor in own.items()})
    assert int(found["n_averaged after"]) == 2


def test_averages_lie_as_their_parameters_and_parts_as_the_first() -> None:
    model = Normed()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan, mesh = FullyShard("dp"), Mesh.of(dp=2)
    step = Program.from_torch_training(
        *(model, lambda y: y.square().mean(), optimizer, (torch.randn(6, 4),)),
        mesh=mesh,
        plan=plan,
        average=swa.AveragedModel(model),
        accumulate=2,
        shardings={"x": P("dp")},
    )
    result = propagate(step)
    placements = placements_of(result)
    assert placements["average of up.weight"] == placements["up.weight"]
    assert placements["average of up.weight after"] == placements["up.weight"]
    assert placements["x 1"] == placements["x"] != placements["n_averaged"]
    assert launches(result.communication(partitioner="shardy"), plan)["reduce_scatter"] >= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"scaler": torch.amp.GradScaler},
            "scaler: expected a torch.amp.GradScaler, .* got the class GradScaler",
        ),
        ({"average": Normed()}, "average: expected an AveragedModel of the model, or None, got Normed"),
        ({"average": swa.AveragedModel(nn.Linear(2, 2))}, r"other parameters; pass AveragedModel\(model\)"),
        ({"accumulate": 0}, "accumulate: expected an integer, 1 or above, got 0"),
        ({"learning_rate": 0.1}, "learning_rate: expected True or False, got 0.1"),
    ],
)
def test_invalid_options(options: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        Program.from_torch_training(Normed(), lambda y: y.mean(), None, (torch.randn(6, 4),), **options)


def test_averages_in_hooks_of_optimizers_are_options() -> None:
    model = Normed()
    optimizer, average = with_momentum(model), swa.AveragedModel(model)
    optimizer.register_step_post_hook(lambda *_: average.update_parameters(model))
    with pytest.raises(ShardyError, match=r"\(AveragedModel\) is not part of it: pass it as average="):
        Program.from_torch_training(model, lambda y: y.mean(), optimizer, (torch.randn(6, 4),))


def test_schedulers_name_their_optimizer() -> None:
    model = Normed()
    scheduler = torch.optim.lr_scheduler.StepLR(with_momentum(model), 3)
    with pytest.raises(ShardyError, match="or None, got StepLR; pass its attribute optimizer"):
        Program.from_torch_training(model, lambda y: y.mean(), scheduler, (torch.randn(6, 4),))


@pytest.mark.parametrize("table", [nn.Embedding(8, 4, sparse=True), nn.EmbeddingBag(8, 4, sparse=True)])
def test_sparse_gradients(table: Any) -> None:
    tokens = torch.zeros(2, 3, dtype=torch.int64)
    message = (
        r"gradient of 0.weight, a sparse tensor \(torch.sparse_coo\) is unsupported; leave out sparse=True"
    )
    for optimizer in (torch.optim.SGD(table.parameters(), lr=0.1), None):
        with pytest.raises(ShardyError, match=message):
            Program.from_torch_training(nn.Sequential(table), lambda y: y.mean(), optimizer, (tokens,))


def test_lstms_in_single_precision_are_those_of_doubles() -> None:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells = nn.LSTM(4, 3, bidirectional=True)

        def forward(self, x: Any) -> Any:
            return self.cells(x)[0].square().mean()

    model, x = Last(), torch.randn(5, 2, 4)
    program = Program.from_torch_training(model, None, None, (x,))
    found = run(program, **{name: tensor.detach() for name, tensor in model.named_parameters()}, x=x)
    model(x).backward()
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(found[f"{name} gradient"], parameter.grad, rtol=1e-4, atol=1e-6)


def test_a_scaler_that_is_not_enabled_changes_nothing() -> None:
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    assert trained(scaler=scaler)[3].text() == trained()[3].text()


def test_a_tensor_that_is_given_twice_is_two_arguments() -> None:
    model, x = nn.Linear(4, 4), torch.randn(3, 4)
    program = Program.from_torch_training(model, F.mse_loss, None, (x,), targets=(x,))
    given = {name: tensor.detach() for name, tensor in model.named_parameters()}
    target = torch.randn(3, 4)
    found = run(program, **given, input=x, target=target)
    np.testing.assert_allclose(found["loss"], F.mse_loss(model(x), target).item(), rtol=1e-5)


class Listed(torch.optim.Optimizer):
    """Updates lists of parameters by ops on lists."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            params = group["params"]
            grads = [p.grad for p in params]
            norms = torch._foreach_norm(grads)
            scaled = torch._foreach_div(grads, torch._foreach_add(norms, 1.0))
            torch._foreach_addcmul_(params, grads, grads, -0.01)
            torch._foreach_add_(params, scaled, alpha=-group["lr"])
            torch._foreach_lerp_(params, torch._foreach_sign(params), 0.01)


def test_optimizers_with_ops_on_lists() -> None:
    torch.manual_seed(0)
    model, x = Normed(), torch.randn(6, 4)
    optimizer = Listed(model.parameters())
    program = Program.from_torch_training(model, lambda y: y.square().mean(), optimizer, (x,))
    before = tensors(model, optimizer)
    model(x).square().mean().backward()
    optimizer.step()
    assert_after(run(program, **before, x=x), tensors(model, optimizer))
