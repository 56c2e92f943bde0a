"""HLO before XLA's partitioner as a program for the planner, and both beside each other.

`python -m tests.xla.spmd.hlo_programs [NAME|FILE...]`: programs of the corpus (by default all), or files. The
shardings are those that XLA's own propagation left, so that only the planner is tested; with `--propagated`
the programs go our whole way from their text.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from shardy_py.api import Program, propagate
from shardy_py.base import releases
from shardy_py.hlo.text.reader import read_module
from shardy_py.hlo.text.record import leaf_types, record_of
from shardy_py.hlo.text.values import Computation, HloModule, Instruction
from shardy_py.mlir.dialects.sdy import ManualComputationOp
from shardy_py.xla.spmd.model import CollectivePlan
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.walk import Block, Name, PlannedOp, ProgramPlan, TiledValue, plan_program
from tests.conftest import corpus_names, corpus_text
from tests.xla.spmd.compiled import (
    Case,
    Hlo,
    Partitioned,
    group_size,
    installed,
    module_of,
    partitioned,
    sharding_of,
    tiling_of_sharding,
)

CALLED = ("condition", "body", "to_apply", "true_computation", "false_computation")

MANUAL = ("SPMDFullToShardShape", "SPMDShardToFullShape")
"""Custom calls between tensors and what each device holds of them, which move nothing."""


@dataclass
class _Reader:
    module: HloModule
    hlo: Hlo
    devices: int

    def block(self, computation: Computation, targets: Sequence[Tiling | None] | None = None) -> Block:
        """The block of a computation; targets: of its results, by default those of its root."""
        leaves: dict[str, tuple[Name, ...]] = {}
        steps: list[PlannedOp] = []
        arguments: list[TiledValue] = []
        for each in computation.instructions:
            names: tuple[Name, ...] = tuple(
                (computation.name, each.name, i) for i in range(len([*each.shape.leaves()]))
            )
            given = tuple(name for operand in each.operands for name in leaves[operand])
            if each.opcode == "tuple":
                names = given
            elif each.opcode == "get-tuple-element":
                held = computation.by_name[each.operands[0]]
                index = int(each.attributes["index"])
                start = sum(len([*part.leaves()]) for part in held.shape.parts[:index])
                names = given[start : start + len(names)]
            elif each.opcode == "parameter":
                tilings = self.tilings(each)
                rows = zip(names, leaf_types(each.shape), tilings, strict=True)
                arguments += [TiledValue(*row) for row in rows]
            else:
                steps.append(self.step(each, computation, given, names))
            leaves[each.name] = names
        root = computation.by_name[computation.root]
        return Block(tuple(arguments), tuple(steps), leaves[root.name], tuple(targets or self.tilings(root)))

    def step(
        self, each: Instruction, computation: Computation, given: tuple[Name, ...], names: tuple[Name, ...]
    ) -> PlannedOp:
        tilings = self.tilings(each)
        called = [str(each.attributes[key]).lstrip("%") for key in CALLED if key in each.attributes]
        called += re.findall(r"[\w.-]+", str(each.attributes.get("branch_computations", "")))
        condition = str(each.attributes.get("condition", "")).lstrip("%")
        bodies = each.opcode in ("while", "call", "conditional")
        blocks = tuple(
            self.block(self.module.by_name[name], None if name == condition else tilings)
            for name in called
            if bodies
        )
        if each.opcode == "while":
            blocks = tuple(
                Block(
                    tuple(
                        TiledValue(v.name, v.type, t) for v, t in zip(block.arguments, tilings, strict=True)
                    ),
                    block.steps,
                    block.results,
                    block.targets,
                )
                for block in blocks
            )
        times = 1
        if each.opcode == "while":
            lines = self.hlo.computations[computation.name]
            times = self.hlo.trip_count(lines[each.name], lines)
        record = record_of(each, computation, self.module.by_name)
        attributes = self.hlo.computations[computation.name][each.name].attributes
        if "replica_groups=" in attributes or "source_target_pairs=" in attributes:
            groups = {"replica_groups": (tuple(range(group_size(attributes))),)}
            record = replace(record, attributes={**record.attributes, **groups})
        if str(each.attributes.get("custom_call_target", "")) in MANUAL:
            record = replace(record, name=ManualComputationOp.name)
            blocks = (Block((), (), (), ()),)
        return PlannedOp(record, given, names, tilings, blocks, times, each.name)

    def tilings(self, each: Instruction) -> tuple[Tiling | None, ...]:
        text = each.attributes.get("sharding")
        sharding = sharding_of(f"sharding={text}") if text else None
        types = leaf_types(each.shape)
        leaves = sharding.leaves if sharding else (None,)
        if len(leaves) == 1:
            leaves *= len(types)
        return tuple(
            tiling_of_sharding(leaf, len(type_.shape), self.devices) if type_ else None
            for leaf, type_ in zip(leaves, types, strict=True)
        )


def block_of(before: str, devices: int) -> Block:
    """The program of an HLO module before partitioning."""
    module = read_module(before)
    return _Reader(module, Hlo(before), devices).block(module.entry_computation)


def planned(before: str, devices: int) -> ProgramPlan:
    """What the planner finds for an HLO module before partitioning."""
    with releases.of(installed()):
        return plan_program(block_of(before, devices))


@releases.of(installed())
def compared(
    meshes: str, cases: Sequence[Case], devices: int = 8, per_module: int = 50
) -> list[tuple[CollectivePlan, CollectivePlan] | None]:
    """By case, what the planner finds and what XLA emits; None where XLA reports an error."""
    chunks = [cases[start : start + per_module] for start in range(0, len(cases), per_module)]
    found: list[tuple[CollectivePlan, CollectivePlan] | None] = []
    modules = partitioned([module_of(meshes, chunk) for chunk in chunks], devices)
    for chunk, module in zip(chunks, modules, strict=True):
        if module.after:
            block, after = block_of(module.before, devices), Hlo(module.after)
            for number in range(len(chunk)):
                one = replace(block, results=block.results[number:][:1], targets=block.targets[number:][:1])
                theirs = CollectivePlan(tuple(after.collectives(after.results[number])))
                found.append((plan_program(one).plan, theirs))
        else:
            found += [None] if len(chunk) == 1 else compared(meshes, chunk, devices, 1)
    return found


def device_count(text: str) -> int:
    """The devices of the largest mesh of a program."""
    sizes = [re.findall(r'"[^"]*"=(\d+)', mesh) for mesh in re.findall(r"sdy\.mesh @\S+ = <\[(.*?)\]", text)]
    counts = [1]
    for mesh in sizes:
        count = 1
        for size in mesh:
            count *= int(size)
        counts.append(count)
    return max(counts)


@releases.of(installed())
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--propagated", action="store_true")
    options = parser.parse_args()
    names = options.names or corpus_names()
    equal = equal_kinds = 0
    for name in names:
        text = Path(name).read_text() if Path(name).exists() else corpus_text(name)
        devices = device_count(text)
        (xla,) = partitioned([text], devices)
        line = (
            comparison_with(xla, partial(reported, text)) if options.propagated else comparison(xla, devices)
        )
        equal += line.startswith("equal")
        equal_kinds += line == "equal"
        print(f"{name}: {line}", flush=True)
    print(f"{len(names)} programs: total within 2 % in {equal}, each kind in {equal_kinds}")


def reported(text: str) -> dict[str, int]:
    """By kind, the bytes that the communication report has for a program of JAX."""
    with releases.of(installed()):
        report = propagate(Program.parse(text, as_compiled=True)).communication(partitioner="xla")
    return {total.key: total.cost.bytes for total in report.by_kind}


def comparison(xla: Partitioned, devices: int) -> str:
    """How the plan of an HLO module compares with what XLA emits: `equal`, or the kinds that differ."""
    return comparison_with(xla, lambda: planned(xla.before, devices).plan.bytes_by_kind)


def comparison_with(xla: Partitioned, plan: Callable[[], Mapping[str, int]]) -> str:
    """How planned bytes by kind compare with what XLA emits: `equal`, or the kinds that differ."""
    if not xla.after:
        return f"not partitioned: {xla.log[-200:]}"
    theirs = CollectivePlan(tuple(Hlo(xla.after).collectives())).bytes_by_kind
    try:
        ours = plan()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    text = ", ".join(
        f"{kind} {ours.get(kind, 0)} (XLA {theirs.get(kind, 0)})"
        for kind in sorted({*ours, *theirs})
        if not near(ours.get(kind, 0), theirs.get(kind, 0))
    )
    if not text:
        return "equal"
    is_near = near(sum(ours.values()), sum(theirs.values()))
    return f"{'equal in total' if is_near else 'differs'}: {text}"


def near(ours: int, theirs: int) -> bool:
    """Returns whether bytes are within 2 % of those of XLA."""
    return abs(ours - theirs) <= 0.02 * theirs


if __name__ == "__main__":
    main()
