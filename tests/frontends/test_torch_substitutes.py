"""Functions that others compute while a model is traced, ops of prims, constants: numbers against torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Program, ShardyError
from shardy_py.frontends.torch import from_exported, from_module
from tests.frontends.traced_functions import program_of_function

pytestmark = pytest.mark.torch
F, nn, prims = torch.nn.functional, torch.nn, torch.ops.prims


class Calls(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def check(function: Callable[..., Any], *inputs: Any) -> None:
    (found,) = from_module(Calls(function), inputs).run([x.numpy() for x in inputs]).arrays
    expected = function(*inputs)
    assert (found.shape, found.dtype) == (tuple(expected.shape), expected.numpy().dtype)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)


def check_step(model: Any, loss: Any, inputs: tuple[Any, ...], targets: tuple[Any, ...]) -> None:
    """The loss and its gradients."""
    given = [tensor.detach().numpy() for tensor in (*model.parameters(), *inputs, *targets)]
    found = Program.from_torch_training(model, loss, None, inputs, targets=targets).run(given)
    expected = loss(model(*inputs), *targets)
    expected.backward()
    np.testing.assert_allclose(found["loss"], expected.item(), rtol=1e-5)
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(found[f"{name} gradient"], parameter.grad, rtol=1e-4, atol=1e-6)


STEPS, LABELS = torch.tensor([7, 4, 6]), torch.tensor([3, 2, 0])
TARGETS = torch.tensor([[1, 1, 3], [2, 4, 4], [1, 2, 3]])


@pytest.mark.parametrize(
    ("options", "steps", "labels", "targets"),
    [
        ({}, STEPS, LABELS, TARGETS),
        ({"reduction": "none", "blank": 4}, STEPS, torch.tensor([3, 2, 1]), torch.tensor([1, 1, 3, 2, 0, 2])),
        ({"reduction": "none"}, torch.tensor([3, 4, 6]), LABELS, TARGETS),
        ({"reduction": "sum", "zero_infinity": True}, torch.tensor([3, 4, 6]), LABELS.int(), TARGETS.int()),
    ],
)
def test_ctc(options: dict[str, Any], steps: Any, labels: Any, targets: Any) -> None:
    torch.manual_seed(0)
    scores = torch.randn(7, 3, 5).log_softmax(-1)
    check(lambda *given: F.ctc_loss(*given, **options), scores, targets, steps, labels)


def test_ctc_of_one_sample_with_lengths_as_numbers() -> None:
    torch.manual_seed(0)
    check(lambda x, t: F.ctc_loss(x, t, (7,), (3,)), torch.randn(7, 5).log_softmax(-1), TARGETS[0])


class Scores(nn.Module):
    def __init__(self, *, normalized: bool = True) -> None:
        super().__init__()
        self.out, self.normalized = nn.Linear(4, 5), normalized

    def forward(self, x: Any) -> Any:
        return self.out(x).log_softmax(-1) if self.normalized else self.out(x)


@pytest.mark.parametrize("normalized", [True, False])
def test_gradients_of_ctc(normalized: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(7, 3, 4)
    check_step(Scores(normalized=normalized), F.ctc_loss, (x,), (TARGETS, STEPS, LABELS))
    short = torch.tensor([7, 3, 6]), torch.tensor([3, 3, 0])
    check_step(Scores(), nn.CTCLoss(reduction="sum", zero_infinity=True), (x,), (TARGETS, *short))


def test_gradients_of_the_multilabel_margin_loss() -> None:
    torch.manual_seed(0)
    entries = torch.tensor([[1, -1, 2, 0, 0], [0, 1, 2, 3, 4], [-1, 0, 0, 0, 0]])
    check_step(Scores(normalized=False), F.multilabel_margin_loss, (torch.randn(3, 4),), (entries,))


NUMBERS = torch.tensor([1, 3, 3, 0, 5])


def test_counts_of_a_given_size() -> None:
    def counts(x: Any, w: Any) -> Any:
        every = (
            torch.bincount(x, minlength=8),
            x.bincount(w, minlength=8),
            x.bincount(w.double(), minlength=8),
        )
        assert [each.dtype for each in every] == [torch.int64, torch.float32, torch.float64]
        return torch.stack([each.double() for each in every])

    check(counts, NUMBERS, torch.rand(5))
    with pytest.raises(ShardyError, match=r"aten.bincount.default: .* depends on values; pass minlength to"):
        from_module(Calls(torch.bincount), (NUMBERS,))


def test_functions_that_check_elements_by_their_formulas() -> None:
    torch.manual_seed(0)
    x, ones, times, weights = (
        torch.randn(3, 6),
        torch.randn(6),
        torch.tensor([1, 2, 3, 1, 1, 2]),
        torch.rand(6),
    )
    a, b, c = torch.randn(2, 5, 3), torch.randn(2, 5, 4), torch.randn(3, 2)

    def functions(x: Any, ones: Any, times: Any, weights: Any, a: Any, b: Any, c: Any) -> Any:
        found = (
            torch.cov(x),
            torch.cov(x, correction=0, fweights=times),
            x.cov(fweights=times, aweights=weights),
            torch.cov(ones),
            torch.corrcoef(x),
            ones.corrcoef(),
            torch.combinations(ones, 3),
            torch.combinations(ones, with_replacement=True),
            F.gaussian_nll_loss(x, x + 1, (weights - 0.5).expand(3, 6), reduction="sum", full=True, eps=0.1),
            F.gaussian_nll_loss(x, 2 * x, x[:, 0].square()),
            F.gaussian_nll_loss(x, 2 * x, 0.5, reduction="none"),
            *torch.linalg.lstsq(a, b)[:3],
            torch.linalg.lstsq(a, b, driver="gels").residuals,
            torch.linalg.lstsq(a[0].T, c).solution,
            torch.linalg.lstsq(a, b[..., 0]).solution,
        )
        return torch.cat([each.flatten().double() for each in found])

    # Negative variances are an error in torch, where the elements are known.
    check(functions, x, ones, times, weights + 0.5, a, b, c)


class Heads(nn.Module):
    """Scores whose loss the module computes from its weights, by torch in chunks of samples."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(4, 5)
        self.deviation = nn.Parameter(torch.tensor([0.2, 1e-4, 2.0, 1.0]))

    def forward(self, x: Any, labels: Any) -> Any:
        options = nn.LinearCrossEntropyOptions(batch_chunk_size=2) if CHUNKED else None
        scored = F.linear_cross_entropy(
            x, self.out.weight, labels, linear_bias=self.out.bias, options=options
        )
        spread = F.gaussian_nll_loss(x, x + 1, self.deviation.expand(7, 4), eps=1e-3)
        return scored + spread + torch.corrcoef(self.out.weight).sum()


CHUNKED = hasattr(nn, "LinearCrossEntropyOptions")


@pytest.mark.skipif(not CHUNKED, reason="another release of torch has the loss in chunks")
def test_steps_with_losses_by_their_formulas() -> None:
    torch.manual_seed(0)
    model, x, labels = Heads(), torch.randn(7, 4), torch.tensor([0, 1, 2, 3, 4, 0, 1])
    inputs = (x, labels)
    found = Program.from_torch_training(model, None, None, inputs).run(
        [tensor.detach().numpy() for tensor in (*model.parameters(), *inputs)]
    )
    model(*inputs).backward()
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(found[f"{name} gradient"], parameter.grad, rtol=1e-4, atol=1e-5)


def test_gradients_of_signs_and_random_slopes() -> None:
    """Gradients that are zeros without memory, by the numbers that the forward pass drew, and at a place."""

    def function(x: Any, g: Any, at: Any) -> Any:
        leaf = x.detach().requires_grad_()
        y = F.rrelu(leaf, 0.1, 0.9, training=True)
        (place,) = torch.autograd.grad(leaf.narrow(0, at, 5), leaf, g[:5])
        return y, *torch.autograd.grad((y, torch.sgn(leaf)), leaf, (g, g)), place

    given = [torch.randn(20), torch.randn(20), torch.tensor(7)]
    x, g = given[0], given[1]
    program = program_of_function(function, given, ["x", "g", "at"])
    y, gradient, place = program.run([each.numpy() for each in given]).arrays
    np.testing.assert_array_equal(place, [*[0] * 7, *g[:5], *[0] * 8])
    np.testing.assert_allclose(gradient, y / x.numpy() * g.numpy(), rtol=1e-5)
    assert not np.allclose(y[y < 0] / x.numpy()[y < 0], 0.5)


class Convolved(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(3, 4, 5)), nn.Parameter(torch.randn(5))

    def forward(self, x: Any) -> Any:
        window = torch.hamming_window(5) + torch.kaiser_window(5, False, 3.0)
        return torch.conv_tbc(x, self.weight, self.bias, 1) * window


def test_steps_with_convolutions_over_time_and_windows() -> None:
    torch.manual_seed(0)
    check_step(Convolved(), lambda y: y.square().mean(), (torch.randn(7, 2, 4),), ())


class Filled(nn.Module):
    """Places of a dimension, some twice, filled with a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.value, self.out = nn.Parameter(torch.tensor(0.5)), nn.Linear(4, 5)

    def forward(self, x: Any) -> Any:
        return self.out(x).index_fill(-1, torch.tensor([3, 0, 3]), self.value)


def test_gradients_of_what_fills_places() -> None:
    check_step(Filled(), F.mse_loss, (torch.randn(3, 4),), (torch.randn(3, 5),))


@pytest.mark.filterwarnings("ignore:where received a uint8 condition")
def test_conditions_of_bytes() -> None:
    check(lambda x, kept: torch.where(kept, x, -x), torch.randn(3), torch.tensor([0, 1, 2]).byte())


def test_windows() -> None:
    makers = [
        getattr(torch, f"{name}_window") for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")
    ]

    def windows(x: Any) -> Any:
        return torch.stack([x * make(6, periodic=periodic) for make in makers for periodic in (True, False)])

    check(windows, torch.randn(6))


def test_ops_of_prims_are_those_of_aten() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 6)

    def function(x: Any) -> Any:
        turned = prims.transpose(prims.mul(prims.sin(x), x), [1, 0])
        sums = prims.broadcast_in_dim(prims.sum(x, [1]), [4, 6], [0])
        return (
            prims.convert_element_type(prims.where(prims.gt(x, 0.5), x, prims.neg(sums)), torch.float64)
            + turned.T
        )

    check(function, x)


class Bounded(nn.Module):
    """A parameter that each call bounds by its elements, in one of two ways, and uses before and after."""

    def __init__(self, *, is_assigned: bool) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(-1.0, 2.0, 4))
        self.is_assigned = is_assigned

    def forward(self, x: Any) -> Any:
        before = x * self.scale
        if self.is_assigned:
            self.scale.data = self.scale.data.clamp(min=0.5)
        else:
            self.scale.data[1:].clamp_(min=0.5)
        return before.sin() * self.scale


@pytest.mark.parametrize("is_assigned", [True, False])
def test_elements_that_a_model_changes_by_data_are_updated(is_assigned: bool) -> None:
    model, x = Bounded(is_assigned=is_assigned), torch.linspace(0.5, 1.5, 8).reshape(2, 4)
    given = [model.scale.detach().numpy().copy(), x.numpy()]
    forward = from_module(model, (x,)).run(given)
    step = Program.from_torch_training(model, lambda y: y.square().sum(), None, (x,)).run(given)
    output = model(x)
    output.square().sum().backward()
    np.testing.assert_allclose(forward["output"], output.detach(), rtol=1e-5)
    np.testing.assert_allclose(forward["scale after"], model.scale.detach())
    np.testing.assert_allclose(step["scale gradient"], model.scale.grad, rtol=1e-5)


def test_an_export_that_lost_the_elements_of_a_constant_is_an_error() -> None:
    x = torch.ones(2, 4)
    exported = torch.export.export(Bounded(is_assigned=False), (x,), strict=True)
    with pytest.raises(ShardyError, match=r"lifted_tensor_0 is a constant without elements.*detach\(\)"):
        from_exported(exported)


def test_an_export_with_a_constant_of_vmap_is_an_error() -> None:
    x, kept = torch.ones(2, 4), list[Any]()
    torch.vmap(lambda row: (kept.append(row), row)[1])(x)
    exported = torch.export.export(Calls(lambda x: x + 1), (x,))
    exported.constants["lifted_tensor_0"] = kept[0]
    with pytest.raises(ShardyError, match=r"lifted_tensor_0 is a tensor of torch\.vmap.*without"):
        from_exported(exported)


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((7,), {}),
        ((4, 7), {"ignore_index": 0}),
        ((4, 7), {"label_smoothing": 0.1}),
        pytest.param((2, 7, 3), {"ignore_index": 3, "reduction": "sum"}, marks=pytest.mark.slow),
        ((2, 7, 3, 4), {"reduction": "none"}),
    ],
)
def test_gradients_of_cross_entropy_have_no_sum_over_classes(shape: Any, options: Mapping[str, Any]) -> None:
    generator = torch.Generator().manual_seed(len(shape))
    scores = torch.randn(shape, generator=generator)
    labels = torch.randint(0, 7, shape[:1] + shape[2:] if len(shape) > 1 else (), generator=generator)

    def loss(y: Any, labels: Any) -> Any:
        return (F.cross_entropy(y, labels, **options) * 0.5).sum()

    model = Scaled()
    check_step(model, loss, (scores,), (labels,))
    step = Program.from_torch_training(model, loss, None, (scores,), targets=(labels,))
    sums = [value for value in step.values.of_op("reduce") if value.location.endswith("loss/sum backward")]
    assert not sums or "label_smoothing" in options or not labels.ndim


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, x: Any) -> Any:
        return x * self.scale


class Policy(nn.Module):
    """The loss of proximal policy optimization; its distribution asks whether its parameters are valid."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Linear(4, 3)

    def forward(self, x: Any, action: Any, before: Any) -> Any:
        chosen = torch.distributions.Categorical(logits=self.scores(x))
        ratio = (chosen.log_prob(action) - before).exp()
        return torch.min(ratio, ratio.clamp(0.8, 1.2)).mean() - 0.01 * chosen.entropy().mean()


def test_distributions_check_no_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)  # packages may change it
    torch.manual_seed(0)
    inputs = torch.randn(6, 4), torch.arange(6) % 3, torch.randn(6)
    check_step(Policy(), lambda loss: loss, inputs, ())
    check(lambda x: torch.distributions.Normal(x, 2.0).log_prob(x + 1), torch.randn(5))
    assert torch.distributions.Distribution._validate_args


class Determinants(nn.Module):
    """Determinants of matrices in another order than that of their storage, whose factors torch keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.columns = nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4, 4).T)
        self.many = nn.Parameter(torch.randn(4, 2, 4))

    def forward(self, scale: Any) -> Any:
        inverse, logarithm = torch.linalg.det(self.rows), torch.linalg.slogdet(self.columns)[1]
        turned = torch.linalg.det(self.rows.T) + torch.linalg.slogdet(self.columns.T)[1]
        return scale * (inverse + logarithm + turned + torch.linalg.det(self.many.transpose(0, 1)).sum())


def test_gradients_of_determinants_in_any_order_of_storage() -> None:
    torch.manual_seed(0)
    check_step(Determinants(), lambda loss: loss, (torch.tensor(1.0),), ())


@pytest.mark.parametrize(
    ("shape", "wrap"), [((3, 5), False), ((7, 3), False), ((7, 3), True), ((3, 3, 3), False)]
)
def test_diagonals_are_filled(shape: tuple[int, ...], wrap: bool) -> None:
    check(lambda x: (2 * x).fill_diagonal_(7.0, wrap), torch.randn(shape))


def test_diagonals_are_filled_in_a_loss() -> None:
    check_step(
        nn.Linear(4, 4), lambda y: y.T.mm(y).fill_diagonal_(0).square().sum(), (torch.randn(6, 4),), ()
    )
