"""Candidates that workers evaluate: as in this process, also when workers are lost, and when interrupted."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from shardy_py import P, Program, ShardyError, Study
from shardy_py.base import plugins
from shardy_py.cli.suggest import main
from shardy_py.hardware import as_placement
from shardy_py.search.study import StepCost
from shardy_py.search.suggest.moves import moves_of
from shardy_py.search.suggest.search import first_changes
from shardy_py.search.suggest_scoring import Scorer
from shardy_py.search.workers import Workers, workers_of
from shardy_py.sharding import Mesh

TEXT = """
sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(%x: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>},
                %a: tensor<256x1024xf32>, %b: tensor<1024x256xf32>,
                %c: tensor<256x1024xf32>, %d: tensor<1024x256xf32>) -> tensor<64x256xf32> {
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0]
      : (tensor<64x256xf32>, tensor<256x1024xf32>) -> tensor<64x1024xf32>
  %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0]
      : (tensor<64x1024xf32>, tensor<1024x256xf32>) -> tensor<64x256xf32>
  %2 = stablehlo.add %1, %x : tensor<64x256xf32>
  %3 = stablehlo.dot_general %2, %c, contracting_dims = [1] x [0]
      : (tensor<64x256xf32>, tensor<256x1024xf32>) -> tensor<64x1024xf32>
  %4 = stablehlo.dot_general %3, %d, contracting_dims = [1] x [0]
      : (tensor<64x1024xf32>, tensor<1024x256xf32>) -> tensor<64x256xf32>
  %5 = stablehlo.add %4, %2 : tensor<64x256xf32>
  return %5 : tensor<64x256xf32>
}
"""
EDITS = [{"%arg0": P("data")}, {}, {"%arg1": P(None, "model"), "%2": P("data")}]


@pytest.fixture(autouse=True)
def _no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugins of other tests, whose files are gone, are not those of workers."""
    monkeypatch.setattr(plugins, "_names", {})


class Copying(Executor):
    """Runs what it is given at once, on copies, as another process would; `fails` says which are lost."""

    def __init__(self, fails: Callable[[int], BaseException | None] = lambda number: None) -> None:
        self.numbers, self.fails = count(1), fails

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        error = self.fails(next(self.numbers))
        if error is not None:
            future.set_exception(error)
        else:
            copied, given = pickle.loads(pickle.dumps((fn, args)))
            future.set_result(pickle.loads(pickle.dumps(copied(*given))))
        return future


@pytest.fixture(scope="module")
def program() -> Program:
    return Program.parse(TEXT)


@pytest.fixture(scope="module")
def serial(program: Program) -> str:
    return str(program.suggest(tries=24, seed=2, progress=False))


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        yield executor


def test_a_suggestion_is_that_of_one_process(program: Program, serial: str, processes: Executor) -> None:
    assert str(program.suggest(tries=24, seed=2, progress=False, executor=processes)) == serial


def test_this_process_evaluates_nothing_meanwhile(
    program: Program, serial: str, processes: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Study, "step")  # here; workers have their own
    assert str(program.suggest(tries=24, seed=2, progress=False, executor=processes)) == serial


@pytest.mark.parametrize("workers", [1, 7])
def test_it_does_not_depend_on_the_number_of_workers(program: Program, serial: str, workers: int) -> None:
    given = program.suggest(tries=24, seed=2, progress=False, executor=Copying(), workers=workers)
    assert str(given) == serial


def test_threads_evaluate_one_at_a_time(program: Program, serial: str) -> None:
    with ThreadPoolExecutor(3) as executor:
        assert str(program.suggest(tries=24, seed=2, progress=False, executor=executor)) == serial


@pytest.mark.slow
def test_a_cluster_of_dask(program: Program, serial: str) -> None:
    distributed = pytest.importorskip("distributed", reason="dask.distributed (extra: dev) is not installed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        given = program.suggest(tries=24, seed=2, progress=False, executor=executor, workers=2)
        assert str(given) == serial
        costs = Study(program).evaluate(EDITS, executor=executor, workers=2)
        assert [*costs] == [Study(program).step(edits) for edits in EDITS]


def test_candidates_are_evaluated_in_order(program: Program, processes: Executor) -> None:
    study = Study(program)
    expected = [study.step(edits) for edits in EDITS]
    assert [*study.evaluate(EDITS)] == expected
    assert [*study.evaluate(EDITS, executor=processes)] == expected
    assert [*study.evaluate(EDITS, "h100", executor=processes)] != expected


def test_an_error_comes_with_its_candidate(program: Program) -> None:
    costs = Study(program).evaluate([{}, {"%arg1": '<@mesh, [{"data"}, {"data"}]>'}], executor=Copying())
    assert next(costs) == Study(program).step({})
    with pytest.raises(ShardyError, match="annotation of %arg1"):
        next(costs)


@pytest.mark.parametrize("wrong", [{"executor": 3}, {"workers": 0}, {"workers": "two"}])
def test_what_is_no_executor_is_named(program: Program, wrong: dict[str, Any]) -> None:
    with pytest.raises(ShardyError, match=next(iter(wrong))):
        Study(program).evaluate([{}], **wrong)
    with pytest.raises(ShardyError, match=next(iter(wrong))):
        program.suggest(progress=False, **wrong)


@pytest.mark.parametrize("error", [BrokenExecutor("a child process terminated"), MemoryError()])
def test_what_lost_workers_had_is_evaluated_here(
    program: Program, serial: str, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    executor = Copying(lambda number: error if number % 3 == 0 else None)
    assert str(program.suggest(tries=24, seed=2, progress=False, executor=executor, workers=2)) == serial
    (record,) = caplog.records
    assert (
        f"a worker is lost, what it had is computed in this process: {type(error).__name__}" in record.message
    )


def test_an_executor_that_is_shut_down_is_not_asked_again(program: Program, serial: str) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    assert str(program.suggest(tries=24, seed=2, progress=False, executor=executor)) == serial


def test_processes_that_die_are_replaced() -> None:
    with workers_of(count=1) as workers:
        assert workers.begin(lambda: "here", os._exit, 1).result() == "here"
        assert workers.begin(lambda: "here", os.path.basename, "a/there").result() == "there"


def test_no_worker_begins_what_is_dropped() -> None:
    begun: list[str] = []
    executor = ThreadPoolExecutor(1)
    workers, gate = Workers(executor, 1), Future[str]()
    first = workers.begin(str, gate.result)
    second, third = (workers.begin(str, lambda n=name: begun.append(n) or n) for name in ("second", "third"))
    second.drop()
    gate.set_result("first")
    assert (first.result(), third.result(), begun) == ("first", "third", ["third"])
    executor.shutdown()


def test_an_interrupt_gives_the_best_so_far(program: Program) -> None:
    executor = Copying(lambda number: KeyboardInterrupt() if number == 9 else None)
    suggestion = program.suggest(tries=24, progress=False, executor=executor, workers=2)
    assert suggestion.stopped == "interrupted"
    assert suggestion.plans


def test_the_command_has_workers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, asked = tmp_path / "in.mlir", list[int]()
    source.write_text(TEXT)
    assert main([str(source), "--tries", "9"]) == 0
    alone = capsys.readouterr().out
    monkeypatch.setattr("shardy_py.search.workers._processes", lambda n: asked.append(n) or Copying())
    assert main([str(source), "--tries", "9", "--workers", "2"]) == 0
    assert (capsys.readouterr().out, asked) == (alone, [2])


def test_what_will_hardly_be_asked_for_waits_until_it_is() -> None:
    begun: list[str] = []

    def work(name: str) -> str:
        begun.append(name)
        return name

    with ThreadPoolExecutor(1) as executor:
        workers = Workers(executor, 1)
        tasks = [
            workers.begin(partial(work, "here"), work, name, is_needless=lambda name=name: name == "b")
            for name in "abc"
        ]
        assert tasks[2].result() == "c"
        assert begun == ["a", "c"]
        assert tasks[1].found is None
        assert [task.result() for task in tasks] == ["a", "b", "c"]
        assert begun == ["a", "c", "b"]
        assert tasks[1].found == "b"


def test_choices_after_one_that_helps_are_not_begun(program: Program) -> None:
    """While the first of two is evaluated, the second has helped: no worker begins what comes after it."""
    pending: list[Future[Any]] = []

    class Held(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            pending.append(Future())
            return pending[-1]

    mesh, placement, workers = Mesh.of({"data": 2, "model": 2}), as_placement("tpu-v5p"), Workers(Held(), 2)
    scorer = Scorer(program, "mesh", mesh, placement, frozenset(), print, workers=workers)
    moves = moves_of(scorer.roles, scorer.mesh)
    start = tuple(((),) * len(tensor.shape) for tensor in scorer.roles.tensors)
    choices = [*islice(first_changes(start, moves, scorer.is_valid), 4)]
    cost = StepCost(1.0, 1.0, 1, 1)
    scorer.ahead(choices, 2.0, lambda found: found is cost)
    assert len(pending) == 2
    pending[1].set_result(cost)
    scorer.workers.begin(lambda: None, print)
    assert len(pending) == 3  # what was begun after all choices
    pending[0].set_result(None)
    assert scorer.score(choices[0], 2.0, name="a") is None
    assert scorer.score(choices[1], 2.0, name="b") is cost
    assert len(pending) == 3
