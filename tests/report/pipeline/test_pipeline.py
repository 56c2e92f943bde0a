"""Pipelines have the figures of the formula of their schedule, and run in the order of the picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shardy_py import Program, Result, ShardyError, propagate

FOLDER = Path(__file__).parent
STAGES, WIDTH = 4, 8


def result(name: str) -> Result:
    return propagate(Program.load(FOLDER / f"{name}.mlir", as_compiled=True), progress=False)


@pytest.mark.parametrize(
    ("name", "microbatches", "repeats", "delay"),
    [("ppermute", 6, 1, 1), ("delayed", 6, 1, 2), ("rotation", 5, 1, 1), ("circular", 4, 3, 1)],
)
def test_figures_are_those_of_the_formula(name: str, microbatches: int, repeats: int, delay: int) -> None:
    report = result(name).pipeline()
    (loop,) = report.loops
    assert (loop.axis, report.stages, report.microbatches) == ("stage", STAGES, microbatches)
    assert (loop.repeats, loop.delay) == (repeats, delay)
    idle = delay * (STAGES - 1)
    assert report.bubble == pytest.approx(idle / (microbatches * repeats + idle))
    assert loop.weight_bytes == repeats * WIDTH * WIDTH * 4
    assert report.memory_bytes > loop.weight_bytes


@pytest.mark.parametrize("name", ["ppermute", "delayed", "rotation", "circular"])
def test_stages_compute_in_the_order_of_the_picture(name: str) -> None:
    """The scale of a microbatch goes through the stages: in the interpreter, tanh gives each where it is."""
    found = result(name)
    (loop,) = found.pipeline().loops
    shapes = [value.shape for value in found.source.values if value.role == "argument"]
    scales = 2.0 ** -np.arange(20, 20 + loop.microbatches)  # tanh keeps what is so small
    weights = np.broadcast_to(np.eye(WIDTH, dtype=np.float32), shapes[0])
    data = np.broadcast_to(scales[:, None, None], shapes[1]).astype(np.float32)
    local = found.partition().program
    parts = [np.stack(np.split(weights, STAGES)), np.stack([data] * STAGES)]
    (tanh,) = local.values.of_op("stablehlo.tanh")
    (computed,) = local.run(parts, probe=[str(tanh)], devices=STAGES).probes.values()
    assert len(computed) == loop.iterations
    for iteration, value in enumerate(computed):
        by_stage = np.asarray(value, np.float32).reshape(STAGES, -1)[:, 0]
        for stage in range(STAGES):
            placed = loop.microbatch(stage, iteration)
            if placed is not None:
                assert by_stage[stage] == pytest.approx(scales[placed[0]], rel=1e-5), (stage, iteration)


def test_the_backward_pass_is_a_pipeline_too() -> None:
    report = result("training").pipeline()
    assert [(loop.stages, loop.microbatches) for loop in report.loops] == [(4, 5), (4, 5)]


def test_sends_that_the_next_iteration_waits_for_are_exposed() -> None:
    (loop,), (delayed,) = (result(name).pipeline().loops for name in ("rotation", "delayed"))
    forward, other = loop.sends
    assert (forward.is_forward, other.is_forward) == (True, False)
    assert forward.exposed == forward.seconds
    assert other.exposed == pytest.approx(other.seconds - loop.compute)
    (send,) = delayed.sends
    assert send.exposed == pytest.approx(send.seconds - delayed.compute)


def test_pictures() -> None:
    (loop,) = result("rotation").pipeline("h100").loops
    assert loop.picture().splitlines()[:2] == ["stage 0  0 1 2 3 4 . . .", "stage 1  . 0 1 2 3 4 . ."]
    assert loop.to_svg().count("<rect") == STAGES * loop.iterations
    (text,) = (line for line in str(result("circular").pipeline()).splitlines() if "stage 1" in line)
    assert text.split()[2:] == [".", *(f"{n}{turn}" for turn in "abc" for n in range(4)), ".", "."]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ring", "permutes nothing that its products compute and read again"),
        ("halo", "has the same weights on all devices along stage"),
    ],
)
def test_loops_that_are_no_pipelines(name: str, reason: str) -> None:
    with pytest.raises(ShardyError, match=f"expected a loop over stages, got the loop at .* {reason}"):
        result(name).pipeline()


def test_programs_without_loops() -> None:
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"
    with pytest.raises(ShardyError, match="got no loop with a collective permute"):
        propagate(Program.parse(text), progress=False).pipeline()
