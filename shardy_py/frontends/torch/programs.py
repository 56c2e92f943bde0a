"""Exported models as programs with shardings by name, and the placements of results.

    program = from_exported(exported, mesh, {"up.weight": [Replicate(), Shard(0)], "x": P("dp")})
    placements_of(propagate(program))["down.weight"]          (Replicate(), Shard(dim=1))

Not here: graphs (`export.py`), meshes and placements (`placements.py`), plans (`plans.py`).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from shardy_py.api import Mesh, P, Program, Result, Sharding, ShardyError, Value
from shardy_py.api.annotate import annotation_of
from shardy_py.base.errors import closest
from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.arguments import check_model
from shardy_py.frontends.torch.constraints import planned
from shardy_py.frontends.torch.export import program_of, tied_names
from shardy_py.frontends.torch.exporting import export
from shardy_py.frontends.torch.module_arguments import numbered_arguments
from shardy_py.frontends.torch.placements import as_mesh, from_placements, to_placements, torch_module
from shardy_py.frontends.torch.plan_remarks import say_whole_inputs
from shardy_py.frontends.torch.plans import ParallelPlan, modules_of, state_names
from shardy_py.frontends.torch.protocols import TorchModule
from shardy_py.frontends.torch.wrapped_tensors import unwrapped

_WILD = frozenset("*?")


def from_exported(
    exported: Any,
    mesh: object = None,
    shardings: Mapping[str, object] | None = None,
    *,
    plan: object = None,
    name: str = "main",
) -> Program:
    """The program of an exported model, the result of `torch.export.export`.

    mesh: a `DeviceMesh` or `Mesh`. name: of the function.
    shardings: by the full name of a parameter or buffer (`layers.0.weight`), the name of an input or output
        (`output`, `output[0]`, `output['logits']`), or a pattern (`layers.*.weight`; exact names take
        precedence over patterns, later patterns over earlier ones). Each is a list of placements, one a mesh
        dimension, or a sharding as `Program.annotate` takes it: `P(...)`, a `Sharding`, sdy text.
    plan: what `parallelize_module` and `fully_shard` are called with: styles by module, `TensorParallel`,
        `FullyShard`, or a list of these. `shardings` take precedence over it.
    Parameters that share a tensor (tied weights) get one sharding.
    Raises `ShardyError` if torch is not installed, for ops without a row (`register_aten`), dynamic sizes,
    unknown names, and placements that a sharding cannot express.
    """
    ours = None if mesh is None else as_mesh(mesh)
    exported = unwrapped(exported)
    program = program_of(exported, ours, name)
    for names in tied_names(exported):
        arguments = {value.label: value for value in program.values.arguments(name)}
        program = program.group(*(arguments[each] for each in names))
    if plan is not None:
        program = under_plan(program, exported, ours, plan, name)
    found = annotated(program, ours, shardings, name)
    if plan is not None and ours is not None:
        states = {*state_names(exported)}
        inputs = {value.label for value in found.values.arguments(name)} - states
        say_whole_inputs(found, ParallelPlan.of(plan, ours, modules_of(exported)), ours, inputs, name)
    return found


def annotated(
    program: Program, mesh: Mesh | None, shardings: Mapping[str, object] | None, function: str = "main"
) -> Program:
    """The program with shardings by name or pattern, as `from_exported` takes them.

    Raises `ShardyError` for unknown names and placements that a sharding cannot express.
    """
    values = {value.label or value.name: value for value in _named_values(program, function)}
    given = shardings_by_label(shardings, values)
    if not given:
        return program
    edits = {values[label]: _annotation(values[label], label, s, mesh) for label, s in given.items()}
    try:
        return program.annotate(edits)
    except ShardyError as error:
        message = error.diagnostics[0].message
        for label, value in values.items():
            message = message.replace(f"{annotation_of(value)}:", f"{label}:")
        raise ShardyError(message) from None


def from_module(
    model: TorchModule,
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
    mesh: object = None,
    shardings: Mapping[str, object] | None = None,
    *,
    plan: object = None,
    strict: bool | None = None,
    specialize: bool = False,
    name: str = "main",
) -> Program:
    """The program of a module called with these arguments, which torch exports first; as `from_exported`.

    strict: as of `torch.export.export`; None tries both. specialize: numbers that the model reads from
    tensors, and sizes that depend on elements (`x[mask]`), are those of these arguments, and the program is
    one for inputs that have the same. Raises `ShardyError`, at the line of the model and with a remedy, if
    torch cannot export it.
    """
    check_model(model)
    ours = None
    if plan is not None and mesh is not None:
        ours = ParallelPlan.of(plan, as_mesh(mesh), modules_of(model))
    watching = partial(numbered_arguments, model, ours)
    exported = export(model, args, kwargs, strict=strict, specialize=specialize, watching=watching)
    return from_exported(exported, mesh, shardings, plan=plan, name=name)


def under_plan(
    program: Program, model: TorchModule, mesh: object, plan: object, function: str = "main"
) -> Program:
    """The program of a model under a plan of DTensor; as `from_exported` with `plan`.

    program: of the model, or of a training step of it. model: the module, or the exported one.
    Raises `ShardyError` without a mesh, and for unknown modules, axes and styles.
    """
    if mesh is None:
        raise ShardyError("a plan without a mesh; pass one: from_exported(exported, mesh, plan=...)")
    ours = as_mesh(mesh)
    return planned(
        program, ParallelPlan.of(plan, ours, modules_of(model)), ours, state_names(model), function
    )


def _named_values(program: Program, function: str) -> list[Value]:
    values = program.values
    return [*values.arguments(function), *values.results(function)]


def shardings_by_label(shardings: object, known: Iterable[str]) -> dict[str, object]:
    """The sharding of each name that a key matches. Raises `ShardyError` unless keys are names."""
    if shardings is None:
        return {}
    keys: list[object] = list(shardings) if is_mapping(shardings) else []
    if not is_mapping(shardings) or not all(isinstance(key, str) for key in keys):
        example = '{"layers.*.weight": [Replicate(), Shard(0)]}'
        raise ShardyError.unexpected(
            "", expected=f"shardings by name, such as {example}", got=f"{shardings!r}"
        )
    ordered = sorted(shardings, key=lambda key: not _WILD.intersection(key))
    return {label: shardings[key] for key in ordered for label in _matching(key, known)}


def _matching(key: str, known: Iterable[str]) -> list[str]:
    """The names that a name or pattern matches. Raises `ShardyError` if there are none."""
    names = [key] if key in known else fnmatch.filter(known, key.replace("[", "[[]"))
    if not names:
        raise ShardyError(_unknown_name(key, known))
    return names


def _unknown_name(key: str, known: Iterable[str]) -> str:
    close = closest(key, known, 3) or list(known)[:8]
    return f"unknown parameter, buffer, input or output '{key}'; the model has {', '.join(close)}, ..."


def _annotation(value: Value, label: str, given: object, mesh: Mesh | None) -> object:
    """The sharding as `Program.annotate` takes it. Raises `ShardyError`, with the label, for placements."""
    placement = torch_module("torch.distributed.tensor.placement_types").Placement
    if isinstance(given, placement):
        raise ShardyError.unexpected(
            label, expected="a list of placements, one per mesh dimension", got=repr(given)
        )
    listed = given if is_sequence(given) else ()
    if not any(isinstance(part, placement) for part in listed):
        return given
    if mesh is None:
        raise ShardyError(f"{label}: placements without a mesh; pass one: from_exported(exported, mesh, ...)")
    try:
        return from_placements(mesh, listed, _shape(value))
    except ShardyError as error:
        raise ShardyError(f"{label}: {error.diagnostics[0].message}") from None


def _shape(value: Value) -> tuple[int, ...]:
    return tuple(size or 0 for size in value.shape or ())


# ---------------------------------------------------------------------- placements


@dataclass(frozen=True, eq=False)
class Placements(Mapping[str, tuple[object, ...]]):
    """The placements of a program's parameters, buffers, inputs and outputs, by name.

    Looking one up raises `ShardyError` if DTensor cannot express the sharding, and KeyError for an unknown
    name.
    """

    program: Program
    function: str = "main"

    def __getitem__(self, name: str) -> tuple[object, ...]:
        value = self._values.get(name)
        if value is None:
            raise KeyError(_unknown_name(str(name), self._values))
        sharding = value.sharding
        if sharding is None:
            mesh = next(iter(value.meshes.values()), None)
            if mesh is None:
                raise ShardyError(f"{name} has no placements: the program has no mesh")
            sharding = Sharding(mesh, P())
        try:
            return to_placements(sharding, _shape(value))
        except ShardyError as error:
            raise ShardyError(f"{name}: {error.diagnostics[0].message}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def _values(self) -> dict[str, Value]:
        return {value.label or value.name: value for value in _named_values(self.program, self.function)}


def placements_of(result: Result | Program, function: str = "main") -> Placements:
    """The placements of parameters, buffers, inputs and outputs after propagation.

    Raises `ShardyError` for anything but a result or a program.
    """
    if not isinstance(result, Result | Program):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ShardyError.unexpected(
            "", expected="the result of propagate(from_exported(...))", got=type(result).__name__
        )
    return Placements(result.program if isinstance(result, Result) else result, function)
