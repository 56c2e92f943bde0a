"""Functions of torch, with gradients and mutation, as graphs of ATen ops without either.

    graph = trace(step, tensors, Places(model))

`make_fx` runs the function on fake tensors and records what autograd and the optimizer run. A second pass
replaces mutation by new tensors (`torch.func.functionalize`) and decomposes ops without a row.

Each op gets the line of the user's code and the path of the module that called it; an op of the backward pass
gets those of the forward op whose gradient it computes, by autograd's sequence numbers.

Not here: what a training step is (`training.py`), ops as StableHLO (`export.py`).
"""

from __future__ import annotations

import inspect
import operator
import re
from bisect import bisect_left
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any
from warnings import catch_warnings, filterwarnings

from shardy_py.api import ShardyError
from shardy_py.base.errors import Diagnostic, InternalError, Position
from shardy_py.base.records import dataclass
from shardy_py.frontends.aten import find_row, keeps_whole
from shardy_py.frontends.torch.calls import is_users, place_of, short_text
from shardy_py.frontends.torch.foreach import is_foreach, run_each
from shardy_py.frontends.torch.multi_head import heads_apart
from shardy_py.frontends.torch.nodes import aten_of_prim, blamed, in_phase, phase_of
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import FxGraph, FxModule, FxNode, TorchModule, TorchTensor
from shardy_py.frontends.torch.step_decompositions import decomposed_step
from shardy_py.frontends.torch.storage import order_determinants
from shardy_py.frontends.torch.substitutes import substitutes
from shardy_py.frontends.torch.whole_ops import kept_whole

_STEP = str(Path(__file__).with_name("training_step.py"))
_IGNORED = ("profiler",)
"""Namespaces of ops that compute nothing."""


@dataclass(frozen=True)
class TracedGraph:
    """A graph without mutation.

    nodes: in order, the last the output. inputs: a node for each input. outputs: the nodes of the results.
    constants: tensors by the name of their node.
    """

    nodes: tuple[FxNode, ...]
    inputs: tuple[FxNode, ...]
    constants: Mapping[str, TorchTensor]
    outputs: tuple[Any, ...]


def trace(
    function: Callable[..., Sequence[object]], inputs: Sequence[TorchTensor], places: Places
) -> TracedGraph:
    """The graph of a function of tensors that returns tensors.

    Raises `ShardyError`, at the line of the model, if the function reads a number from a tensor, or torch
    cannot trace it for another reason.
    """
    recorded = _recorded(function, _distinct(inputs), places)
    order_determinants(recorded.graph)
    attributes = [node for node in recorded.graph.nodes if node.op == "get_attr"]
    held = {str(node.target): getattr(recorded, str(node.target)) for node in attributes}
    graph = _functional(recorded, held)
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    count = len(placeholders) - len(held)
    constants = {node.name: tensor for node, tensor in zip(placeholders[count:], held.values(), strict=True)}
    output = next(node for node in graph.nodes if node.op == "output")
    _check_constants(placeholders[count:], constants)
    return TracedGraph(tuple(graph.nodes), tuple(placeholders[:count]), constants, tuple(output.args[0]))


def _check_constants(nodes: Sequence[FxNode], constants: Mapping[str, TorchTensor]) -> None:
    """Raises `ShardyError` for tensors that the function changes but does not return, or loses."""
    fake = torch_module("torch._subclasses").FakeTensor
    for node in nodes:
        shape = f"a tensor of shape {tuple(constants[node.name].shape)}"
        for user in node.users:
            if str(user.target) == "aten.copy_.default" and user.args[0] is node:
                what = "in place, but it is not a parameter, buffer, input or state"
                raise blamed(user, f"the step changes {shape} {what}; register it as a buffer of the model")
            if isinstance(constants[node.name], fake):
                what = f"the step keeps {shape} in an object, where the next step does not find it"
                raise blamed(
                    user, f"{what}; keep states in optimizer.state[p], in tensors, lists and mappings"
                )


def _distinct(inputs: Sequence[TorchTensor]) -> list[TorchTensor]:
    """The inputs, of which another tensor takes the place of one that is given again.

    Tracing knows inputs by identity, and would take both for the last.
    """
    first: dict[int, int] = {}
    places = [first.setdefault(id(tensor), place) for place, tensor in enumerate(inputs)]
    empty_like = torch_module("torch").empty_like
    return [t if places[n] == n else empty_like(t) for n, t in enumerate(inputs)]


def _recorded(function: Callable[..., object], inputs: Sequence[TorchTensor], places: Places) -> FxModule:
    """The ops that the function runs on fake tensors, with the mutation that it does."""
    proxy_tensor = torch_module("torch.fx.experimental.proxy_tensor")

    def watched(*tensors: object) -> object:
        with kept_whole(), heads_apart(), substitutes(), places.watching():
            return function(*tensors)

    traced = proxy_tensor.make_fx(watched, tracing_mode="fake", _allow_non_fake_inputs=True)
    try:
        with torch_module("torch.fx.traceback").preserve_node_meta(), compiling(), catch_warnings():
            # torch goes on without the gradient.
            filterwarnings("error", ".*an autograd kernel was not registered", UserWarning)
            return traced(*inputs)
    except (ShardyError, InternalError):
        raise
    except Exception as error:  # of the user's code, and of torch for what it cannot trace
        reason = unsupported(error) if isinstance(error, RuntimeError) else None
        if reason is not None:
            raise ShardyError(Diagnostic(reason, places.last)) from None
        what = f"the step cannot be traced: {short_text(error)}"
        is_on_meta = any(each.device.type == "meta" for each in inputs)
        if (_MIXED_DEVICES if is_on_meta else _FORWARD_MODE).search(what):
            what += _OF_DEVICES if is_on_meta else _OF_GRADIENTS
        raise ShardyError(Diagnostic(what, place_of(error))) from error


_MIXED_DEVICES = re.compile("FakeTensorDeviceMismatchError.* meta")
_FORWARD_MODE = re.compile("FakeTensorDeviceMismatchError.* meta and cpu|must implement the jvp function")
"""torch's errors for derivatives in forward mode: it finds sizes on the device meta, or has no formula."""
_OF_DEVICES = """; the model is on the device meta: make example inputs, targets and what it creates there, \
too: x.to("meta"), torch.arange(n, device=x.device)"""
_OF_GRADIENTS = (
    "; torch cannot trace forward mode here: use gradients of gradients (jacrev(jacrev(f)), grad(grad(f)), "
    "vjp) for torch.func.hessian, jacfwd, jvp and linearize"
)
OPAQUE = "tensors of oneDNN have elements that no trace sees: compute with dense ones (x.to_dense())"
"""The remedy for opaque tensors."""
_SPECIALIZE = "pass specialize=True, which takes the numbers of the example inputs"


def unsupported(error: RuntimeError, *, of_optimizer: bool = False) -> str | None:
    """Returns what a step must not do, if that is why torch cannot trace it.

    of_optimizer: whether it is code of an optimizer, whose numbers an example does not tell.
    """
    otherwise = "" if of_optimizer else f", or {_SPECIALIZE}"
    fake = torch_module("torch._subclasses.fake_tensor")
    shapes = torch_module("torch.fx.experimental.symbolic_shapes")
    if isinstance(error, fake.DataDependentOutputException):
        reads = f"{getattr(error, 'func', '')} reads a number from a tensor, as item() does"
        return f"{reads}, which is unsupported in a step; keep it a tensor{otherwise}"
    if isinstance(error, fake.DynamicOutputShapeException):
        op = getattr(error, "func", "")
        return f"{op}: the size of its result depends on values; use an op of fixed size{otherwise}"
    if isinstance(error, shapes.GuardOnDataDependentSymNode):
        reason = "the code depends on elements of a tensor, which is unsupported in a step"
        return f"{reason}; use torch.where{otherwise}"
    if re.search("OpaqueTensorImpl|mkldnn|aten::_to_dense", str(error)):
        return f"opaque tensors are unsupported; {OPAQUE}"
    if found := re.search(r"HigherOrderOperator (\w+)", str(error)):
        return f"{found[1]} runs graphs of its own, which is unsupported in a step; use torch.where"
    return None


@contextmanager
def compiling() -> Generator[None]:
    """torch.compiler.is_compiling() is true: optimizers keep their step counts tensors.

    oneDNN, whose op for an LSTM keeps states in bytes of its own, is off.
    """
    compiler, flags = torch_module("torch.compiler"), torch_module("torch")._C
    before = compiler._is_compiling_flag, flags._get_mkldnn_enabled()
    compiler._is_compiling_flag = True
    flags._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        compiler._is_compiling_flag = before[0]
        flags._set_mkldnn_enabled(before[1])


def _functional(recorded: FxModule, held: Mapping[str, TorchTensor]) -> FxGraph:
    """The graph without mutation and with ops without a row decomposed; attributes become inputs."""
    table = _decompositions()
    graph = decomposed_step(recorded, held, table, _IGNORED)
    if graph is None:
        graph = _traced_again(recorded, held, table)
    _drop_indices(graph)
    _keep_tensors(graph)
    _share_scalars(graph)
    graph.eliminate_dead_code()
    return graph


def _traced_again(
    recorded: FxModule, held: Mapping[str, TorchTensor], table: Mapping[object, object]
) -> FxGraph:
    """The graph of `_functional` as torch makes it, by a second trace."""
    torch = torch_module("torch")
    proxy_tensor = torch_module("torch.fx.experimental.proxy_tensor")

    class Replay(torch.fx.Interpreter):
        def call_function(
            self, target: object, args: Sequence[object], kwargs: Mapping[str, object]
        ) -> object:
            name = str(target)
            if name.startswith(_IGNORED):
                return None
            if is_foreach(target):
                return run_each(target, args, kwargs)
            if name == "aten.native_batch_norm.default" and args[5] and args[3] is not None:
                # Its schema does not mention that it changes the running statistics; that of this op does.
                target = torch.ops.aten._native_batch_norm_legit.default
            target = aten_of_prim(target) or target
            return super().call_function(target, args, kwargs)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

        def get_attr(self, target: str, args: object, kwargs: object) -> TorchTensor:
            return attributes[target]

    attributes: dict[str, TorchTensor] = {}
    placeholders = [node.meta["val"] for node in recorded.graph.nodes if node.op == "placeholder"]

    def run(*tensors: TorchTensor) -> Any:
        attributes.update(zip(held, tensors[len(placeholders) :], strict=True))
        return Replay(recorded).run(*tensors[: len(placeholders)], enable_io_processing=False)

    fake = torch_module("torch._guards").detect_fake_mode(placeholders)
    constants = [tensor if fake is None else fake.from_tensor(tensor) for tensor in held.values()]
    traced = proxy_tensor.make_fx(
        torch.func.functionalize(run), decomposition_table=dict(table), tracing_mode="fake"
    )
    with torch_module("torch.fx.traceback").preserve_node_meta(), torch.no_grad():
        return traced(*placeholders, *constants).graph


def _decompositions() -> dict[object, object]:
    """All that torch has, except for ops with a row."""
    core = torch_module("torch.export").default_decompositions()
    others = torch_module("torch._decomp").decomposition_table
    return {
        **{op: function for op, function in others.items() if find_row(str(op)) is None},
        **{op: function for op, function in core.items() if not keeps_whole(str(op))},
    }


_MAX_POOLS = tuple(f"aten.max_pool{n}d_with_indices_backward.default" for n in (2, 3))


def _drop_indices(graph: FxGraph) -> None:
    """Removes the indices of maxima from gradients whose row finds the maxima: those without dilation."""
    for node in graph.nodes:
        if str(node.target) in _MAX_POOLS and all(each == 1 for each in node.args[5]):
            node.args = (*node.args[:7], None)


def _keep_tensors(graph: FxGraph) -> None:
    """Replaces numbers that an optimizer reads from tensors, such as Adagrad's rate, by these tensors."""
    for node in graph.nodes:
        if str(node.target) == "aten._local_scalar_dense.default" and phase_of(node) == "optimizer":
            node.replace_all_uses_with(node.args[0])


def _share_scalars(graph: FxGraph) -> None:
    """Merges equal ops without dimensions, such as Adam's bias corrections for each parameter."""
    seen: dict[object, FxNode] = {}
    for node in list(graph.nodes):
        if node.op != "call_function" or getattr(node.meta.get("val"), "ndim", 1):
            continue
        if any(tag.name == "nondeterministic_seeded" for tag in getattr(node.target, "tags", ())):
            continue
        if node.target is operator.getitem:
            continue
        key = (node.target, str(node.args), str(node.kwargs))
        if key in seen:
            node.replace_all_uses_with(seen[key])
        else:
            seen[key] = node


# ---------------------------------------------------------------------- places


@dataclass
class Places:
    """The origin of ops while a function is traced: module, line, and whether in the backward pass.

    names: of modules, by identity. phase: of the ops that run, if it is not the forward pass.
    last: the line of the last op of the model. called: the classes of the modules that were called, by path.
    """

    names: Mapping[int, str]
    phase: str = ""
    last: Position | None = None
    called: dict[str, type] = field(default_factory=dict[str, type])
    _modules: list[str] = field(default_factory=list[str])
    _numbers: list[int] = field(default_factory=list[int])
    _metas: list[dict[str, object]] = field(default_factory=list[dict[str, object]])

    @staticmethod
    def of(model: TorchModule) -> Places:
        """The places of a model, whose modules have their full names."""
        return Places({id(module): name for name, module in model.named_modules()})

    @contextmanager
    def watching(self) -> Generator[None]:
        """Within it, traced ops get their place."""
        modules = torch_module("torch.nn.modules.module")
        with ExitStack() as stack:
            for register, hook in (
                (modules.register_module_forward_pre_hook, self._enter),
                (modules.register_module_forward_hook, self._leave),
            ):
                stack.callback(register(hook).remove)
            # Otherwise checkpoints leave modules by an exception, without a call of the hook.
            stack.enter_context(torch_module("torch.utils.checkpoint").set_checkpoint_early_stop(False))
            stack.enter_context(_mode(self))
            yield

    def _enter(self, module: TorchModule, _: object) -> None:
        if id(module) in self.names:
            path = self.names[id(module)]
            self._modules.append(path)
            self.called[path] = type(module)

    def _leave(self, module: TorchModule, _: object, __: object) -> None:
        if id(module) in self.names:
            self._modules.pop()

    def mark(self, meta: dict[str, object]) -> None:
        """Puts the place of the op that is about to run into the metadata of its node."""
        torch = torch_module("torch")
        gradient_of = torch._C._current_autograd_node()
        # Modules that run during the backward pass compute parts of the forward pass again.
        if gradient_of is not None and not self._modules:
            meta.update(self._forward_of(gradient_of._sequence_nr()))
            return
        position = _user_line()
        self.last = position or self.last
        phase = self.phase if gradient_of is None else "backward"
        own = _meta(self._modules[-1] if self._modules else self.phase, position, phase)
        meta.update(own)
        # Autograd numbers the node of an op before the op runs.
        self._numbers.append(torch.autograd._get_sequence_nr() - 1)
        self._metas.append(own)

    def _forward_of(self, number: int) -> dict[str, Any]:
        """The place of the forward op with that sequence number, for its gradient."""
        # Ops without a gradient have the number of the op before them.
        index = bisect_left(self._numbers, number)
        if self._numbers[index : index + 1] != [number]:
            index -= 1
        found = self._metas[index] if index >= 0 else _meta("", None, "")
        return {**found, "custom": in_phase("backward")}


def _meta(path: str, position: Position | None, phase: str) -> dict[str, object]:
    """The keys of a node's metadata in which torch keeps the line and the modules."""
    line = f'File "{position.file}", line {position.line}, in forward' if position else ""
    return {"stack_trace": line, "nn_module_stack": {path: (path, None)}, "custom": in_phase(phase)}


def _mode(places: Places) -> AbstractContextManager[object]:
    """The mode in which torch tells `places` of every op."""
    traceback = torch_module("torch.fx.traceback")

    class MarkingMode(torch_module("torch.utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(
            self,
            func: Callable[..., object],
            types: object,
            args: Sequence[object] = (),
            kwargs: Mapping[str, object] | None = None,
        ) -> object:
            places.mark(traceback.get_current_meta())
            return func(*args, **(kwargs or {}))

    return MarkingMode()


def _user_line() -> Position | None:
    """The innermost line of the user's code; None if this package called torch."""
    frame = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if file == _STEP:
            return None
        if is_users(file):
            return Position(file, frame.f_lineno, 1)
        frame = frame.f_back
    return None
