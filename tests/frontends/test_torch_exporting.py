"""Modules that torch cannot export: the line of the model, and what helps."""

from __future__ import annotations

import inspect
import sysconfig
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

parallel = pytest.importorskip("torch.distributed.tensor.parallel")
tensors = pytest.importorskip("torch.distributed.tensor")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, P, Program, ShardyError
from shardy_py.frontends.torch import from_exported, from_module
from tests.frontends import dtensor_collectives
from tests.frontends.torch_models import MLP

pytestmark = pytest.mark.torch

X = torch.randn(4, 16)
ColwiseParallel, Shard = parallel.ColwiseParallel, tensors.Shard


class DynamicCache:
    """A cache that is not a tree of tensors, as of models that generate text."""


class Cached(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x + 1, DynamicCache()


class Branch(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            return x
        return -x


class Experts(torch.nn.Module):
    def experts(self, x: Any) -> Any:
        return sum(x[i] for i in x[0].nonzero().unbind(0))

    def forward(self, x: Any) -> Any:
        return self.experts(x)


class Boxes(torch.nn.Module):
    def postprocess(self, x: Any) -> Any:
        kept = x[x > 0]
        return kept if len(kept) > 3 else x

    def forward(self, x: Any) -> Any:
        return self.postprocess(x)


class Converted(torch.nn.Module):
    """Converts its parameters as it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(16, 16)

    def forward(self, x: Any) -> Any:
        return self.inner.to(torch.float64)(x.double())


class Long(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        raise ValueError("odd " * 1000)


@dataclass
class Record:
    x: Any


class Recorded(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return Record(x + 1)


class Jagged(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.nested.nested_tensor_from_jagged(x, torch.tensor([0, 1, 4])).sum(1)


class Packed(torch.nn.Module):
    """Raises what torch does for its quantized modules, whose backends are not on all machines."""

    def forward(self, x: Any) -> Any:
        raise AttributeError("quantized.LinearPackedParamsBase does not have a field '__obj_flatten__'")


class Attention(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        raise NotImplementedError("FlexAttention does not support backward on CPU")


class Catching(torch.nn.Module):
    """Calls a module with arguments that it does not take, and then without."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(16, 16)

    def forward(self, x: Any) -> Any:
        try:
            return self.inner(x, 3)
        except TypeError:
            return self.inner(x)


class Odd(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        raise ValueError("odd")


class Two(torch.nn.Module):
    """A layer whose sizes do not fit its second argument."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(16, 16)

    def forward(self, x: Any, y: Any) -> Any:
        return self.inner(x) @ y


def step(model: Any, *inputs: Any, loss: Any = lambda y: y.sum(), targets: Any = (), **options: Any) -> Any:
    return Program.from_torch_training(model, loss, None, inputs, targets=targets, **options)


mse = torch.nn.functional.mse_loss


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: from_module(MLP(), X),
            r"args: expected a tuple of the arguments of forward, got Tensor; pass",
        ),
        (
            lambda: from_module(MLP(), {"x": X}),
            "args: expected a tuple of the arguments of forward, got dict",
        ),
        (lambda: from_module(MLP(), (), (X,)), "kwargs: expected a mapping of the keywords of forward, got"),
        (lambda: from_module(MLP(), (X, X)), r"call of MLP.forward: too many positional arguments: .*\(x\)"),
        (
            lambda: from_module(Two(), (X,)),
            r"call of Two.forward: missing .*'y': expected \(x, y\); pass args",
        ),
        (lambda: from_module(Two(), (X, X)), r"see whether torch takes these arguments: model\(\*args\)"),
        (lambda: step(Two(), X), r"call of Two.forward: missing a required argument: 'y'"),
        (lambda: step(Two(), X, X), r"shapes \(4, 16\) and \(4, 16\) cannot be multiplied"),
        (lambda: step(MLP(), X, loss=mse), r"call of mse_loss: missing .* 'target'.*; pass .* as targets=\("),
        (lambda: step(MLP(), X, loss=torch.nn.MSELoss()), "call of MSELoss: missing a .* 'target'"),
        (lambda: step(MLP(), X, targets=(X,)), "call of <lambda>: too many positional arguments"),
        (lambda: step(MLP(), X, loss=mse, targets=X), r"targets: .*, got Tensor; pass targets=\(x,\)"),
        (
            lambda: step(MLP(), X, loss=torch.nn.MSELoss),
            "loss: expected a function .*, got the class MSELoss",
        ),
        (lambda: step(MLP(), X, loss=3), "loss: expected a function .*, got int"),
        (lambda: step(MLP(), X, max_norm=-1.0), "max_norm: expected a number, 0 or above, got -1.0"),
        (
            lambda: step(MLP(), X, loss=torch.nn.functional.nll_loss, targets=(torch.zeros(3, dtype=int),)),
            r"^error: the step cannot be traced: ValueError: Expected input batch_size \(4\) to match",
        ),
    ],
)
def test_arguments_that_do_not_fit(call: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message) as caught:
        call()
    library = sysconfig.get_path("stdlib")
    places = [diagnostic.where.file for diagnostic in caught.value.diagnostics if diagnostic.where]
    assert all(not place.startswith(library) for place in places)


def test_errors_of_a_step_are_at_the_line_of_the_model() -> None:
    with pytest.raises(ShardyError, match="the step cannot be traced: ValueError: odd") as caught:
        step(torch.nn.Sequential(torch.nn.Linear(16, 16), Odd()), X)
    line = inspect.getsourcelines(Odd.forward)[1] + 1
    assert str(caught.value.diagnostics[0].where) == f"{__file__}:{line}:1"


def nested() -> Any:
    return torch.nested.nested_tensor([X, X[:2]], layout=torch.jagged)


def quantized() -> Any:
    return torch.quantize_per_tensor(X, 0.1, 0, torch.quint8)


class SparseInside(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.sparse.mm(x.to_sparse(), x.t())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("made", "message"),
    [
        (X.to_sparse, r"x: a sparse tensor \(torch.sparse_coo\) is unsupported; pass x.to_dense\(\)"),
        (nested, r"x: a nested tensor is unsupported; pass it padded \(x.to_padded_tensor"),
        (quantized, "x: a quantized tensor is unsupported; pass its"),
    ],
)
def test_tensors_that_are_not_one_array(made: Any, message: str) -> None:
    tensor = made()
    for call in (lambda: from_module(MLP(), (tensor,)), lambda: step(MLP(), tensor)):
        with pytest.raises(ShardyError, match=message):
            call()
    held = MLP()
    held.register_buffer("x", tensor)
    with pytest.raises(ShardyError, match=message):
        from_module(held, (X,))


def test_models_that_make_sparse_tensors() -> None:
    with pytest.raises(
        ShardyError, match=r"aten._to_sparse.default: sparse tensors are unsupported; compute"
    ):
        from_module(SparseInside(), (X,))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_exported_models_with_sparse_inputs() -> None:
    class Sampled(torch.nn.Module):
        def forward(self, kept: Any, x: Any) -> Any:
            return torch.sparse.sampled_addmm(kept, x, x.t())

    exported = torch.export.export(Sampled(), (torch.eye(X.shape[0]).to_sparse_csr(), X))
    with pytest.raises(ShardyError, match=r"kept: a sparse tensor \(torch.sparse_csr\) is unsupported"):
        from_exported(exported)


def test_models_that_are_parallelized_already() -> None:
    parallel = pytest.importorskip("torch.distributed.tensor.parallel")
    with dtensor_collectives.device_mesh() as mesh:
        model = parallel.parallelize_module(MLP(), mesh["tp"], {"up": parallel.ColwiseParallel()})
        wrapped = torch.nn.parallel.DistributedDataParallel(MLP())
        for call in (lambda: from_module(model, (X,)), lambda: step(model, X)):
            with pytest.raises(ShardyError, match=r"up.weight: expected a plain tensor, .* as plan="):
                call()
        with pytest.raises(ShardyError, match=r"pass the module in it: model.module"):
            from_module(wrapped, (X,))


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (Cached, "pass use_cache=False to the model, or set it in its configuration"),
        (Branch, "the code depends on elements of a tensor: use torch.where or torch.cond"),
        (Experts, 'load the model with experts_implementation="batched_mm"'),
        (Attention, 'load the model with attn_implementation="sdpa", or "eager"'),
        (Boxes, "the number of boxes depends on their scores: export the model without"),
        (Converted, "the model converts parameters as it runs"),
        (Catching, "the model catches an error of a module that it calls"),
        (Recorded, "register the class of the result by torch.export.register_dataclass"),
        (Jagged, "nested tensors are unsupported: pad them"),
        (Packed, "modules of torch.ao.nn.quantized hold packed weights"),
        (Odd, "torch.export.draft_export lists the causes"),
    ],
)
def test_what_helps_where_torch_cannot_export(
    capsys: pytest.CaptureFixture[str], model: Any, remedy: str
) -> None:
    with pytest.raises(ShardyError) as caught:
        from_module(model(), (X,))
    assert "def forward" not in capsys.readouterr().err
    (only,) = caught.value.diagnostics
    assert only.what.startswith("torch.export failed: ")
    assert only.remedy.startswith(remedy)


def test_long_messages_are_shortened() -> None:
    with pytest.raises(ShardyError, match=r"ValueError: (odd )+\.\.\.") as caught:
        from_module(Long(), (X,))
    assert len(caught.value.diagnostics[0].what) < 300


def test_the_error_is_at_the_line_of_the_model() -> None:
    with pytest.raises(ShardyError, match=r"torch\.export failed: ValueError: odd") as caught:
        from_module(Odd(), (X,))
    line = inspect.getsourcelines(Odd.forward)[1] + 1
    assert str(caught.value.diagnostics[0].where) == f"{__file__}:{line}:1"


@pytest.mark.parametrize("strict", [False, True])
def test_an_export_of_one_way_that_fails_is_to_be_tried_otherwise(strict: bool) -> None:
    with pytest.raises(ShardyError, match=f"export with strict={not strict}"):
        from_module(Odd(), (X,), strict=strict)


def test_modules_become_programs() -> None:
    mesh = Mesh.of(dp=2, tp=4)
    program = Program.from_torch(MLP(), mesh, {"up.weight": P("tp")}, args=(X,))
    assert str(program["up.weight"].sharding) == '<@mesh, [{"tp"}, {}]>'
    exported = torch.export.export(MLP(), (), {"x": X})
    named = from_module(MLP(), kwargs={"x": X}, mesh=mesh, shardings={"up.weight": P("tp")})
    assert named.text() == program.text()
    assert Program.from_torch(exported, mesh, {"up.weight": P("tp")}).text() == program.text()
    with pytest.raises(ShardyError, match=r"expected a torch\.nn\.Module, got int"):
        from_module(3, (X,))


class Slopes(torch.nn.Module):
    """Derivatives of a layer by its inputs."""

    def __init__(self, of: str) -> None:
        super().__init__()
        self.layer, self.of = torch.nn.Linear(16, 8), of

    def forward(self, x: Any) -> Any:
        def network(row: Any) -> Any:
            return torch.tanh(self.layer(row)).sum(-1)

        func = torch.func
        if self.of == "grad":
            return func.grad(lambda rows: network(rows).sum())(x)
        if self.of == "autograd":
            x.requires_grad_()
            return torch.autograd.grad(network(x).sum(), x)[0]
        return func.vmap(getattr(func, self.of)(network))(x)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore:.*torch.jit.script")
@pytest.mark.parametrize("of", ["grad", "jacrev", "hessian"])
def test_transforms_of_torch_func_in_a_model(of: str) -> None:
    model = Slopes(of).eval()
    columns = {"layer": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)}
    program = from_module(model, (X,), mesh=Mesh.of(tp=4), plan=columns)
    given = {name: tensor.detach().numpy() for name, tensor in model.named_parameters()}
    (found,) = program.run({**given, "x": X.numpy()}).values()
    np.testing.assert_allclose(found, model(X).detach(), rtol=1e-4, atol=1e-6)
    assert str(program["layer.weight"].sharding.spec) == "P('tp', None)"
    assert "layer/" in program.values.of_op("dot_general")[0].location


def test_gradients_of_autograd_in_a_model_have_a_remedy() -> None:
    with pytest.raises(ShardyError, match=r"torch.autograd.grad in a model are not exported: use torch.func"):
        from_module(Slopes("autograd"), (X.clone(),))


class Packed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = torch.nn.GRU(16, 4)

    def forward(self, x: Any) -> Any:
        packed = torch.nn.utils.rnn.pack_padded_sequence(x[:, None], [x.shape[0]])
        return self.cells(packed)[1].sum()


def test_packed_sequences() -> None:
    message = (
        r"test_torch_exporting.py:\d+:1: error: a packed sequence .* is unsupported; run the padded batch"
    )
    for made in (from_module, lambda model, args: Program.from_torch_training(model, None, None, args)):
        with pytest.raises(ShardyError, match=message):
            made(Packed(), (X,))


def test_indices_that_are_tensors_without_dimensions() -> None:
    class Chosen(torch.nn.Module):
        def forward(self, x: Any, i: Any) -> Any:
            return x[:, i], x[i], torch.index_add(x, 0, i, x[:1])

    program = from_module(Chosen(), (X, torch.tensor(0)))
    for place in (2, 3):
        columns, rows, added = program.run([X.numpy(), np.int64(place)]).values()
        np.testing.assert_array_equal(columns, X[:, place])
        np.testing.assert_array_equal(rows, X[place])
        np.testing.assert_array_equal(added[place], X[place] + X[0])
