"""What XLA's SPMD partitioner makes of programs: HLO right after its pass, and the collectives in it.

`partitioned` compiles StableHLO text with shardings of sdy, in a child process that has the devices. XLA
stops before code generation at a custom call that it does not know, so that thousands of ops take seconds.
`Case`s are small functions; `collectives_of` packs many into one module, and attributes collectives to their
results.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import metadata
from math import prod

import numpy as np
import pytest

from shardy_py.base import releases
from shardy_py.base.behaviours import Behaviour
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.xla.hlo_sharding.axes import to_hlo_sharding, to_named_hlo_sharding
from shardy_py.xla.hlo_sharding.hlo_sharding import HloSharding
from shardy_py.xla.hlo_sharding.text import hlo_sharding_from_text
from shardy_py.xla.spmd.device_grid import DeviceGrid
from shardy_py.xla.spmd.model import CollectivePlan, PlannedCollective
from shardy_py.xla.spmd.tiling import Tiling
from tests.with_jax import run_with_jax

STOP = "stop_before_code_generation"
"""The unknown custom call: its result is the last one of each module."""


def installed() -> releases.Release:
    """The release whose XLA compiles here: that of jaxlib; the default one without it."""
    try:
        return releases.installed(metadata.version("jaxlib"))[0]
    except metadata.PackageNotFoundError:
        return releases.DEFAULT


@dataclass(frozen=True)
class Partitioned:
    """One module before and after XLA's pass spmd-partitioning, and what XLA logged.

    Both texts are empty, and `log` says why, if XLA stopped earlier.
    """

    before: str
    after: str
    log: str


def partitioned(modules: Sequence[str], devices: int = 8) -> list[Partitioned]:
    """Each module as XLA partitions it; skips the test without JAX.

    A module at which XLA ends the process, by a failed check, has no text.
    """
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    with tempfile.TemporaryDirectory() as folder:
        flags = f"--xla_force_host_platform_device_count={devices} --xla_dump_to={folder}"
        flags += " --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=spmd-partitioning"
        run = run_with_jax(
            ["-m", "tests.xla.spmd.compile_modules", folder, str(devices)],
            json.dumps(modules).encode(),
            {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        )
    if run.returncode < 0:  # by a signal
        if len(modules) == 1:
            return [Partitioned("", "", run.stderr.decode())]
        half = len(modules) // 2
        return [*partitioned(modules[:half], devices), *partitioned(modules[half:], devices)]
    assert run.returncode == 0, run.stderr.decode()
    return [Partitioned(*each) for each in json.loads(run.stdout)]


@dataclass(frozen=True)
class Case:
    """A function of one result.

    arguments: the types of the parameters with their attributes: `tensor<4xf32> {sdy.sharding = ...}`.
    body: ops, in which `%0`, `%1`, ... are the parameters, and the last of them defines `%result`.
    result: the type of the result with its attributes.
    """

    arguments: tuple[str, ...]
    body: str
    result: str


def module_of(meshes: str, cases: Sequence[Case]) -> str:
    """The module with all cases as results of one function, and the call that stops XLA as its last."""
    parameters, ops, results, types = [], [], [], []
    for number, case in enumerate(cases):
        parameters += [f"%v{number}_{i}: {type_}" for i, type_ in enumerate(case.arguments)]
        ops.append(re.sub(r"%(\w+)", rf"%v{number}_\1", case.body))
        results.append(f"%v{number}_result")
        types.append(case.result)
    plain = [type_.split(" {")[0] for type_ in types]
    head = (
        f"{meshes}\nfunc.func @main({', '.join(parameters)}) -> ({', '.join([*types, 'tensor<f32>'])}) {{\n"
    )
    stop = f"%stop = stablehlo.custom_call @{STOP}() : () -> tensor<f32>"
    given = f"return {', '.join([*results, '%stop'])} : {', '.join([*plain, 'tensor<f32>'])}"
    return head + "\n".join([*ops, stop, given]) + "\n}\n"


def collectives_of(
    meshes: str, cases: Sequence[Case], devices: int = 8, per_module: int = 50
) -> list[tuple[PlannedCollective, ...] | None]:
    """The collectives that XLA emits for each case; an op that two cases share is in both.

    None: XLA does not partition the case.
    """
    chunks = [cases[start : start + per_module] for start in range(0, len(cases), per_module)]
    found: list[tuple[PlannedCollective, ...] | None] = []
    modules = partitioned([module_of(meshes, chunk) for chunk in chunks], devices)
    for chunk, module in zip(chunks, modules, strict=True):
        if not module.after:
            found += [None] if len(chunk) == 1 else collectives_of(meshes, chunk, devices, 1)
            continue
        hlo = Hlo(module.after)
        found += [tuple(hlo.collectives(hlo.results[number])) for number in range(len(chunk))]
    return found


def sent_by_kind(collectives: Iterable[PlannedCollective]) -> Counter[str]:
    """The bytes that each device sends, by kind."""
    return Counter(CollectivePlan(tuple(collectives)).bytes_by_kind)


def sharding_text(sharding: TensorSharding, mesh: Mesh) -> str:
    """The sharding as XLA has it for a program of JAX: by mesh and axes since it does, else by tiles."""
    has_axes = Behaviour.SHARDINGS_HAVE_AXES.value.since.order <= installed().order
    made = to_named_hlo_sharding(sharding, mesh) if has_axes else to_hlo_sharding(sharding, mesh)
    return str(made)


def tilings_of(before: Hlo, number: int, devices: int) -> list[Tiling]:
    """The tilings of a case before partitioning: of its arguments in order, its ops, and its result."""
    lines = before.computations[before.entry]
    root = lines[before.roots[before.entry]]
    needed = [lines[name] for name in before.needed(lines, before.results[number])]
    arguments = [line for line in needed if line.opcode == "parameter"]
    arguments.sort(key=lambda line: int(line.operand_text))
    used = [*arguments, *(line for line in needed if line.opcode != "parameter")]
    found = [tiling_of(line.type, line.attributes, devices) for line in used]
    results = sharding_of(root.attributes)
    return [*found, tiling_in(results.leaves[number] if results else None, used[-1].type, devices)]


def tiling_of(type_: str, attributes: str, devices: int) -> Tiling:
    """The tiling of an instruction; whole without a sharding."""
    return tiling_in(sharding_of(attributes), type_, devices)


def sharding_of(attributes: str) -> HloSharding | None:
    """The sharding of an instruction."""
    start = attributes.find("sharding={")
    if start < 0:
        return None
    depth, end = 0, start + len("sharding=")
    for end in range(start + len("sharding="), len(attributes)):
        depth += {"{": 1, "}": -1}.get(attributes[end], 0)
        if not depth:
            break
    return hlo_sharding_from_text(attributes[start + len("sharding=") : end + 1])


def tiling_in(sharding: HloSharding | None, type_: str, devices: int) -> Tiling:
    """The tiling of an array of an HLO type."""
    array = _ARRAY.match(type_)
    assert array, type_
    return tiling_of_sharding(sharding, len(array[2].split(",")) if array[2] else 0, devices)


def tiling_of_sharding(sharding: HloSharding | None, rank: int, devices: int) -> Tiling:
    """The tiling of an array of a rank; whole without a sharding, or with one that has no tiles."""
    if sharding is not None and sharding.named is not None:
        named = sharding.named
        if named.sharding.dimensions and not named.manual_axes:
            return Tiling.of_sharding(named.sharding, named.mesh)
        sharding = to_hlo_sharding(named.sharding, named.mesh, named.manual_axes)
    tiles = sharding.tile_assignment if sharding else None
    if sharding is None or tiles is None or tiles.size == 1:
        return Tiling.replicated(rank, devices)
    return Tiling.from_grid(DeviceGrid(tuple(tiles.dimensions[:rank]), tiles.devices), rank)


OPCODES = {
    "all-gather": "all_gather",
    "all-reduce": "all_reduce",
    "all-to-all": "all_to_all",
    "collective-permute": "collective_permute",
    "ragged-all-to-all": "ragged_all_to_all",
    "reduce-scatter": "reduce_scatter",
}
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*?)\)(.*)$")
_COMPUTATION = re.compile(r"^(ENTRY )?%([\w.-]+) \(.*\{$")
_NAME = re.compile(r"%([\w.#-]+)")
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\]")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_CALLED = re.compile(
    r"(?:to_apply|calls|body|condition|true_computation|false_computation|called_computations|"
    r"branch_computations)=\{?((?:%[\w.-]+(?:, )?)+)"
)


@dataclass(frozen=True)
class Line:
    """One instruction of a computation: its texts, and the names of its operands."""

    name: str
    type: str
    opcode: str
    operand_text: str
    attributes: str

    @cached_property
    def operands(self) -> tuple[str, ...]:
        return tuple(_NAME.findall(self.operand_text))


@dataclass
class Hlo:
    """HLO text with the lines of its computations by name."""

    text: str
    computations: dict[str, dict[str, Line]] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    entry: str = ""

    def __post_init__(self) -> None:
        current = ""
        for line in self.text.splitlines():
            if opened := _COMPUTATION.match(line):
                current = opened[2]
                self.computations[current] = {}
                self.entry = current if opened[1] else self.entry
            elif found := _INSTRUCTION.match(line):
                root, name, type_, opcode, operands, attributes = found.groups()
                lines, made = self.computations[current], Line(name, type_, opcode, operands, attributes)
                for operand in made.operands:
                    _add_element(lines, operand)
                lines[name] = made
                if root:
                    self.roots[current] = name

    @cached_property
    def results(self) -> tuple[str, ...]:
        """The names of the results of the entry computation."""
        root = self.computations[self.entry][self.roots[self.entry]]
        return root.operands if root.opcode == "tuple" else (root.name,)

    def collectives(self, result: str = "") -> Iterator[PlannedCollective]:
        """The collectives that the result depends on, or all; those in loops by their trip counts."""
        yield from self._in_computation(self.entry, result, 1)

    def _in_computation(self, computation: str, result: str, times: int) -> Iterator[PlannedCollective]:
        lines = self.computations[computation]
        for name in self.needed(lines, result) if result else lines:
            line = lines[name]
            if line.opcode in OPCODES:
                yield from self._collectives_of(line, lines, times)
            elif line.opcode == "while":
                count = self.trip_count(line, lines)
                for called in self.called(line):
                    yield from self._in_computation(called, "", times * count)
            elif line.opcode not in ("reduce", "all-reduce"):
                for called in self.called(line):
                    yield from self._in_computation(called, "", times)

    @staticmethod
    def needed(lines: dict[str, Line], result: str) -> list[str]:
        """The names of the lines that a result depends on, in order."""
        seen, stack = set[str](), [result]
        while stack:
            name = stack.pop()
            if name in lines and name not in seen:
                seen.add(name)
                stack += lines[name].operands
        return [name for name in lines if name in seen]

    @staticmethod
    def called(line: Line) -> list[str]:
        """The computations that an instruction runs."""
        return [name for names in _CALLED.findall(line.attributes) for name in _NAME.findall(names)]

    @staticmethod
    def _collectives_of(line: Line, lines: dict[str, Line], times: int) -> Iterator[PlannedCollective]:
        kind, size = OPCODES[line.opcode], group_size(line.attributes)
        if kind == "collective_permute" and not moves(line.attributes):
            return
        operands = [_ARRAY.match(lines[name].type) for name in line.operands]
        named = _OP_NAME.search(line.attributes)
        reason = named[1] if named else ""
        arrays = [
            (found[1], tuple(map(int, found[2].split(","))) if found[2] else ())
            for found in operands
            if found
        ]
        if kind == "all_to_all" and len(arrays) > 1:  # one operand for each device of the group
            element, shape = arrays[0]
            arrays = [(element, (len(arrays), *shape))]
        if kind == "ragged_all_to_all":  # the rows of the data or of the buffer, whichever are fewer
            arrays = [min(arrays[:2], key=lambda array: prod(array[1]))]
        groups = tuple(device for group in groups_of(line.attributes) for device in group)
        yield from (
            PlannedCollective(kind, size, element, shape, reason, times, group=groups)
            for element, shape in arrays
        )

    def trip_count(self, loop: Line, lines: dict[str, Line]) -> int:
        """The trip count of a loop that counts up from a constant to one; else 1."""
        condition = self.computations[_field(loop.attributes, "condition")]
        body = self.computations[_field(loop.attributes, "body")]
        compare = next((line for line in condition.values() if line.opcode == "compare"), None)
        if compare is None or "direction=LT" not in compare.attributes:
            return 1
        index, bound = (condition[name] for name in compare.operands)
        position = int(re.search(r"index=(\d+)", index.attributes)[1])  # type: ignore[index]
        start = lines[lines[loop.operands[0]].operands[position]]
        while start.opcode in ("copy", "convert"):
            start = lines[start.operands[0]]
        if not start.opcode == bound.opcode == "constant":
            return 1
        step = self._step(body, self.roots[_field(loop.attributes, "body")], position)
        return -(-(int(bound.operand_text) - int(start.operand_text)) // step)

    @staticmethod
    def _step(body: dict[str, Line], root: str, position: int) -> int:
        added = body[body[root].operands[position]]
        while added.opcode in ("copy", "convert"):
            added = body[added.operands[0]]
        if added.opcode != "add":
            return 1
        return next(
            int(body[name].operand_text) for name in added.operands if body[name].opcode == "constant"
        )


def _add_element(lines: dict[str, Line], operand: str) -> None:
    """Adds what an operand `%pair#1` stands for: an element of a tuple, written without its instruction."""
    tuple_, mark, index = operand.rpartition("#")
    if mark and operand not in lines:
        _add_element(lines, tuple_)
        type_ = _elements(lines[tuple_].type)[int(index)]
        lines[operand] = Line(operand, type_, "get-tuple-element", f"%{tuple_}", f", index={index}")


@lru_cache(maxsize=64)
def _elements(type_: str) -> list[str]:
    """The types of the elements of a tuple.

    >>> _elements("(s32[], (f32[8,2]{1,0}, f32[]))")
    ['s32[]', '(f32[8,2]{1,0}, f32[])']
    """
    found, depth = [""], 0
    for mark in re.sub(r"/\*.*?\*/", "", type_)[1:-1]:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(mark, 0)
        if mark == "," and not depth:
            found.append("")
        else:
            found[-1] += mark
    return [each.strip() for each in found]


def groups_of(attributes: str) -> tuple[tuple[int, ...], ...]:
    """The replica groups of a collective; of a permute the pairs of sender and receiver."""
    if listed := re.search(r"(?:replica_groups|source_target_pairs)=\{(\{[\d,{}]*\})\}", attributes):
        return tuple(tuple(map(int, row.split(","))) for row in re.findall(r"\{([\d,]+)\}", listed[1]))
    if iota := re.search(r"replica_groups=(\[\d+,\d+\])<=(\[[\d,]+\](?:T\([\d,]+\))?)", attributes):
        return tuple(map(tuple, _iota(iota[2]).reshape(json.loads(iota[1])).tolist()))
    if meshed := re.search(r"replica_groups=mesh\[(.*?)\](.*?) \{(.*?)\}", attributes):
        sizes = {axis: int(size) for axis, size in re.findall(r"'(\w+)'=(\d+)", meshed[1])}
        ids = re.search(r"device_ids=\((.*)\)", meshed[2])
        devices = _iota(ids[1]) if ids and "]" in ids[1] else np.arange(prod(sizes.values()))
        parts = re.findall(r"'(\w+)'(?::\((\d+)\)(\d+))?", meshed[3])
        split = [_split(axis, size, parts) for axis, size in sizes.items()]
        inside = [
            any(axis == a and (not n or at == 1) for a, _, n in parts)
            for axis, each in zip(sizes, split, strict=True)
            for at in range(len(each))
        ]
        order = [i for i, within in enumerate(inside) if not within] + [
            i for i, within in enumerate(inside) if within
        ]
        flat = [size for each in split for size in each]
        rows = (
            devices.reshape(flat)
            .transpose(order)
            .reshape(-1, prod(s for s, within in zip(flat, inside, strict=True) if within))
        )
        return tuple(map(tuple, rows.tolist()))
    return ()


def _split(axis: str, size: int, parts: Sequence[tuple[str, str, str]]) -> list[int]:
    """The sizes of an axis before, in and after the sub-axis that groups name."""
    named = next(((int(major), int(count)) for a, major, count in parts if a == axis and count), None)
    return [size] if named is None else [named[0], named[1], size // (named[0] * named[1])]


def _iota(text: str) -> np.ndarray:
    """The devices of `[4,2]T(1,0)`: an iota, reshaped and transposed."""
    sizes, _, order = text.partition("T")
    shape = json.loads(sizes)
    iota = np.arange(prod(shape)).reshape(shape)
    return iota.transpose([int(each) for each in order.strip("()").split(",")]) if order else iota


def group_size(attributes: str) -> int:
    """The number of devices in each replica group."""
    return len(next(iter(groups_of(attributes)), (0,)))


def moves(attributes: str) -> bool:
    """Returns whether a permute sends from a device to another."""
    pairs = re.search(r"source_target_pairs=\{(.*?)\}\}", attributes)
    return bool(pairs) and any(a != b for a, b in re.findall(r"(\d+),(\d+)", pairs[1]))


def _field(attributes: str, name: str) -> str:
    found = re.search(rf"{name}=%([\w.-]+)", attributes)
    assert found, (name, attributes)
    return found[1]
