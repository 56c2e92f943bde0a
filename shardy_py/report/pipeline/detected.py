"""Recognizes pipelines: loops in which what products compute is permuted, and read by products later.

A loop is a pipeline if a collective permute along an axis takes what its products compute to the operands of
its products, one or more iterations later, and these read weights that are sharded along the axis. A ring of
attention permutes what it does not compute; a stencil has the same weights on all devices. Not here: the data
flow (`flow.py`), the weights (`weights.py`), the report (`model.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.loops import iterations
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.ops import TABLE, Control, Family
from shardy_py.report.pipeline.flow import Distances, LoopFlow
from shardy_py.report.pipeline.model import PipelineLoop, PipelineReport, StageSend
from shardy_py.report.pipeline.weights import local_bytes, stage_weights
from shardy_py.report.time import TimeReport
from shardy_py.report.time.graph import TimedBlock, TimedNode
from shardy_py.report.verdict import phase
from shardy_py.sharding.meshes import Meshes

_PERMUTE = "collective_permute"


def pipeline_report(module: ModuleOp, time: TimeReport, memory_bytes: int) -> PipelineReport:
    """Returns the pipelines of a propagated program.

    time: of a step; its collectives have the ops of the module that they are made for.

    Raises:
        ShardyError: the program has no pipeline, or the iterations of one are unknown.
    """
    meshes, reasons = Symbols(module).meshes(), list[str]()
    found: list[PipelineLoop] = []
    for loop, nodes in _loops_with_permutes(time.block):
        made = _pipeline(loop, nodes, meshes)
        if isinstance(made, PipelineLoop):
            found.append(made)
        else:
            reasons.append(made)
    if not found:
        got = "; ".join(dict.fromkeys(reasons)) or "no loop with a collective permute"
        remedy = "a pipeline is a scan in which each device sends what it computed to the next"
        raise ShardyError.unexpected("pipeline", expected="a loop over stages", got=got, remedy=remedy)
    return PipelineReport(tuple(found), memory_bytes, time.hardware.name)


def _loops_with_permutes(block: TimedBlock) -> Iterator[tuple[Operation, list[TimedNode]]]:
    """The innermost loops around permutes, with the nodes of one iteration."""
    for node in block.nodes:
        own = [each for inside in node.inside for each in inside.nodes]
        loops = {id(loop): loop for each in own if (loop := _loop_around(each)) is not None}
        for loop in loops.values():
            yield loop, own
        for inside in node.inside:
            yield from _loops_with_permutes(inside)


def _loop_around(node: TimedNode) -> Operation | None:
    """The loop around the op that a permute is made for; None for other nodes."""
    op = _made_for(node)
    while op is not None and TABLE[op.name].control is not Control.LOOP:
        op = op.parent_op()
        if op is not None and op.name not in TABLE:
            return None
    return op


def _made_for(node: TimedNode) -> Operation | None:
    return node.use.cause.made_for if node.use is not None and node.use.kind == _PERMUTE else None


def _pipeline(loop: Operation, nodes: list[TimedNode], meshes: Meshes) -> PipelineLoop | str:
    """The pipeline that a loop is; else why it is none."""
    place = location_text(loop.location)
    where = f"the loop at {place}" if place else "a loop"
    flow = LoopFlow(loop)
    products = [op for op in flow.ops if _computes(op)]
    sending = [(node, op) for node in nodes if (op := _sender(node, flow)) is not None]
    cycles = {id(op): cycle for _, op in sending if (cycle := _cycle(flow, op, products)) is not None}
    if not cycles:
        return f"{where} permutes nothing that its products compute and read again"
    trips, is_known = iterations(loop)
    if not is_known:
        return f"{where} has an unknown number of iterations (trip_count=)"
    delay = min(delay for delay, _ in cycles.values())
    forward = {key for key, (own, _) in cycles.items() if own == delay}
    node, op = next((node, op) for node, op in sending if id(op) in forward)
    assert node.use is not None
    use, after = node.use, flow.after([op])
    axis, stages = use.axes[0]
    read = (v for each in cycles[id(op)][1] for v in flow.read(each) if flow.maker(v) not in after)
    weights = stage_weights(flow, read, axis, trips, meshes)
    if weights is None:
        return f"{where} has the same weights on all devices along {axis}"
    reader = ShardingReader()
    state = sum(local_bytes(argument, reader, meshes) for argument in flow.carried)
    compute = sum(_seconds(each) for each in nodes if each.use is None)
    sends = tuple(_send(node, id(op) in forward) for node, op in sending)
    made = PipelineLoop(
        *(place, axis, stages, trips, delay, weights.repeats, weights.bytes, state, compute),
        _exposed(sends, compute, hidden=delay > 1),
        phase(use.cause.location) == "backward",
    )
    if made.iterations <= made.idle or (made.iterations - made.idle) % made.repeats:
        return f"{where} has {trips} iterations, which is not a schedule of {stages} stages"
    return made


def _computes(op: Operation) -> bool:
    return any(TABLE[each.name].kind is Family.PRODUCT for each in walk_pre_order(op) if each.name in TABLE)


def _sender(node: TimedNode, flow: LoopFlow) -> Operation | None:
    made_for = _made_for(node)
    return None if made_for is None else flow.op_of(made_for)


def _cycle(
    flow: LoopFlow, op: Operation, products: Iterable[Operation]
) -> tuple[int, list[Operation]] | None:
    """The iterations from products through an op to themselves, and these products; None without any."""
    after, before = flow.after([op]), flow.before([op])
    around = [each for each in products if id(each) in after and id(each) in before]
    if not around:
        return None
    return min(_length(each, after, before) for each in around), around


def _length(op: Operation, after: Distances, before: Distances) -> int:
    return after[id(op)] + before[id(op)]


def _send(node: TimedNode, is_forward: bool) -> StageSend:
    use = node.use
    assert use is not None
    seconds = node.seconds * node.times
    return StageSend(use.value, use.cause.location, use.cost.bytes, seconds, seconds, is_forward)


def _exposed(sends: tuple[StageSend, ...], compute: float, *, hidden: bool) -> tuple[StageSend, ...]:
    """Sends that the next iteration does not wait for are hidden by computation, as far as that reaches."""
    left, found = compute, list[StageSend]()
    for send in sends:
        if send.is_forward and not hidden:
            found.append(send)
        else:
            exposed = max(0.0, send.seconds - left)
            left = max(0.0, left - send.seconds)
            found.append(replace(send, exposed=exposed))
    return tuple(found)


def _seconds(node: TimedNode) -> float:
    inside = sum(_seconds(each) for block in node.inside for each in block.nodes)
    return node.seconds * node.times + node.trips * inside
