"""Graph algorithms of this package beside those of networkx: `graph_algorithms.py [PROGRAM ...]`.

Milliseconds of each, the best of five, on the timed nodes and events of programs, and on call graphs; and
that both have the same result. docs/design/architecture.md has the conclusions.
"""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from pathlib import Path
from timeit import repeat
from typing import Any

import networkx

from shardy_py import Program, propagate
from shardy_py.mlir.calls import CallsByFunction, bottom_up, calls_by_function
from shardy_py.mlir.symbols import callee_name, function_name
from shardy_py.report.time import interval
from shardy_py.report.time.graph import TimedBlock
from shardy_py.xla.buffers import schedule
from shardy_py.xla.buffers.schedule import Event

EXAMPLES = Path(__file__).parents[1] / "examples"


def own_longest(block: TimedBlock, durations: list[float]) -> tuple[int, ...]:
    return interval._longest(block, durations)[1]


def longest(block: TimedBlock, durations: list[float]) -> tuple[int, ...]:
    """The critical path of `report/time/interval.py`."""
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from((-1, at, durations[at]) for at in range(len(block.nodes)))
    pairs = ((before, at) for at, node in enumerate(block.nodes) for before in node.after)
    graph.add_weighted_edges_from((before, at, durations[at]) for before, at in pairs)
    return tuple(networkx.dag_longest_path(graph)[1:])


def callees_first(calls: CallsByFunction) -> list[Any]:
    """The order of `mlir/calls.py`."""
    by_name = {(id(function.parent), function_name(function)): function for function in calls}
    graph = networkx.DiGraph()
    graph.add_nodes_from(calls)
    for function, made in calls.items():
        keys = ((id(function.parent), callee_name(call)) for call in made)
        graph.add_edges_from((function, by_name[key]) for key in keys if key in by_name)
    return list(networkx.dfs_postorder_nodes(graph))


def breadth_first(events: Sequence[Event]) -> list[Event]:
    """The order of the host of `xla/buffers/schedule.py`."""
    made = {name for event in events for name in event.makes}
    users: dict[Hashable, list[int]] = defaultdict(list)
    for number, event in enumerate(events):
        for name in dict.fromkeys(event.reads):
            users[name].append(number)
    graph = networkx.DiGraph()
    graph.add_nodes_from(("given", name) for name in users if name not in made)
    graph.add_nodes_from(range(len(events)))
    makes = ((number, name) for number, event in enumerate(events) for name in event.makes)
    graph.add_edges_from((number, user) for number, name in makes for user in users[name])
    given = ((name, user) for name, own in users.items() if name not in made for user in own)
    graph.add_edges_from((("given", name), user) for name, user in given)
    return [events[number] for number in networkx.topological_sort(graph) if not isinstance(number, tuple)]


def calls_of(count: int) -> CallsByFunction:
    """The calls of a program of functions that each call two later ones."""
    rng = random.Random(count)
    texts: list[str] = []
    for number in range(count):
        later = [rng.randrange(number + 1, min(count, number + 50)) for _ in range(2) if number + 1 < count]
        lines = (f"  %{k} = call @f{f}(%a) : (tensor<8xf32>) -> tensor<8xf32>" for k, f in enumerate(later))
        head = f"func.func {'private ' if number else ''}@f{number}(%a: tensor<8xf32>) -> tensor<8xf32> {{"
        texts.append("\n".join([head, *lines, "  return %a : tensor<8xf32>\n}"]))
    return calls_by_function(Program.parse("\n".join(texts), as_compiled=False).module)


def taken(module: Any, name: str, run: Callable[[], object]) -> list[tuple[Any, ...]]:
    """The arguments with which a function of a module is called."""
    own, found = getattr(module, name), list[tuple[Any, ...]]()

    def noted(*arguments: Any) -> Any:
        found.append(arguments)
        return own(*arguments)

    setattr(module, name, noted)
    str(run())  # reports compute when they are shown
    setattr(module, name, own)
    return found


def milliseconds(run: Callable[[], object]) -> float:
    return min(repeat(run, number=1, repeat=5)) * 1e3


Case = tuple[str, Callable[..., object], Callable[..., object], tuple[Any, ...]]
"""Its name, the function here, the same by networkx, their arguments."""


def cases(paths: Sequence[Path]) -> Iterator[Case]:
    for count in (10, 1000, 32_000):
        yield f"{count} functions, callees first", bottom_up, callees_first, (calls_of(count),)
    for path in paths:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            result = propagate(Program.parse(file.read()), record=False)
        blocks = taken(interval, "_longest", partial(result.time, partitioner="xla"))
        largest = max(blocks, key=lambda call: len(call[0].nodes))
        yield f"{path.name}, critical path of {len(largest[0].nodes)} nodes", own_longest, longest, largest
        orders = taken(schedule, "breadth_first", lambda result=result: result.memory().estimate)
        largest = max(orders, key=lambda call: len(call[0]))
        name = f"{path.name}, order of {len(largest[0])} events"
        yield name, schedule.breadth_first, breadth_first, largest


def started(code: str) -> float:
    return milliseconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]] or [EXAMPLES / "transformer_train.mlir"]
    times = [started(f"import shardy_py.passes.runner{more}") for more in ("", ", networkx")]
    print(f"{'start, without networkx and with it':60} {times[0]:8.1f} {times[1]:8.1f}")
    for name, own, its, arguments in cases(paths):
        same = "same" if own(*arguments) == its(*arguments) else "DIFFERENT"
        both = [milliseconds(partial(each, *arguments)) for each in (own, its)]
        print(f"{name:60} {both[0]:8.1f} {both[1]:8.1f} {same}")


if __name__ == "__main__":
    main()
