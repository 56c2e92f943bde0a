"""DTensor's plans: what `parallelize_module` and `fully_shard` do, as shardings and constraints of a program.

    plan = [
        TensorParallel("tp", {"layers.*.up": ColwiseParallel(), "layers.*.down": RowwiseParallel()}),
        FullyShard("dp", ("layers.*", "")),
    ]
    program = from_exported(exported, mesh, {"tokens": [Shard(0), Replicate()]}, plan=plan)

A style shards the parameters of a module, and constrains what enters and leaves it. `fully_shard` shards
parameters on dimension 0 and constrains their uses to be gathered, once for the forward and once for the
backward pass; gradients are sharded as their parameters. Constraints leave other axes open.

Not here: the styles (`styles.py`), the constraints in the program (`constraints.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from typing import Any, cast

from shardy_py.api import Mesh, ShardyError
from shardy_py.api.arguments import expect, expect_each
from shardy_py.base.errors import Diagnostic, closest
from shardy_py.base.narrowing import is_any_sequence, is_mapping
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.protocols import Exported, TorchModule
from shardy_py.frontends.torch.styles import Style, name_of_class, style_of
from shardy_py.frontends.torch.wrapped_tensors import InnerName, parameter_of


@dataclass(frozen=True)
class TensorParallel:
    """A plan of `parallelize_module` along one axis of the mesh.

    styles: by the path of modules, in which each part may be a pattern (`layers.*.up`; `*` is one part, as in
    torch), objects of `torch.distributed.tensor.parallel`, or plans below a path.
    uneven: parameters that the axis does not divide are allowed; propagation keeps their shardings with
        `update_non_divisible_input_output_shardings=False`.
    """

    axis: str
    styles: Mapping[str, object]
    uneven: bool = False

    def __post_init__(self) -> None:
        expect(self.axis, str, "the name of an axis", what="axis of TensorParallel")
        expect(self.styles, Mapping, "styles by the path of modules", what="styles of TensorParallel")


@dataclass(frozen=True)
class FullyShard:
    """FSDP2's `fully_shard`: parameters are sharded along `axis`, gathered before use.

    axis: or several, as of a flattened mesh, the most major first.
    modules: those that `fully_shard` is called on, as patterns; a parameter belongs to the innermost of them,
        and what belongs to one is gathered together. "" is the whole model.
    replicate: a second axis along which parameters are replicated (HSDP); gradients are reduced along it.
    reshard_after_forward: gathered again for the backward pass; None: all but what belongs to the outermost
        modules, as in torch.
    dimensions: by pattern of parameter names, the dimension to shard; else 0.
    """

    axis: str | tuple[str, ...]
    modules: tuple[str, ...] = ("",)
    replicate: str | None = None
    reshard_after_forward: bool | None = None
    dimensions: Mapping[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        if isinstance(self.modules, str):
            object.__setattr__(self, "modules", (self.modules,))
        expect_each("axis of FullyShard", self.axes, str, "names of axes")
        expect_each("modules of FullyShard", self.modules, str, 'paths of modules, as "layers.*"')
        if self.replicate in self.axes:
            raise ShardyError.unexpected(
                "FullyShard",
                expected="parameters replicated along another axis than they are sharded along",
                got=f"'{self.replicate}' for both",
                remedy="HSDP takes two axes of a mesh; leave out replicate for FSDP along one",
            )

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that parameters are sharded along, the most major first."""
        return (self.axis,) if isinstance(self.axis, str) else self.axis

    @property
    def every_axis(self) -> tuple[str, ...]:
        """The axes along which gradients are reduced: those of `axes`, and `replicate`."""
        return (*self.axes, *filter(None, (self.replicate,)))

    def gathers_again(self, path: str, plans: Iterable[FullyShard]) -> bool:
        """True if the backward pass gathers the parameters of a module again. plans: all of the model."""
        is_inner = any(each.wraps(around) for around in _around(path) for each in plans)
        return is_inner if self.reshard_after_forward is None else self.reshard_after_forward

    def wraps(self, path: str) -> bool:
        """True if a module is one of `modules`."""
        return any(_matches(path, pattern) for pattern in self.modules)


@dataclass(frozen=True)
class Module:
    """A module of the exported model: its path, the name of its class, the names of its parameters."""

    path: str
    kind: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class StyledModule:
    """A module with the style of a plan, along an axis.

    name: of the style. uneven: whether the plan allows parameters that the axis does not divide.
    """

    module: Module
    axis: str
    style: Style
    name: str
    uneven: bool

    def dimension_of(self, name: str, shape: Sequence[int | None]) -> int | None:
        """The dimension of a parameter that the style shards; None for another, or a replicated one.

        Tensors in a parameter have its dimensions, some of size 1, as scales of rows.
        """
        found = next((each for each in self.module.parameters if each == name), None)
        if found is None:
            return None
        own = name.removeprefix(f"{self.module.path}.").partition(".")[0]
        dimension = self.style.parameters(own)
        if dimension is None or not isinstance(found, InnerName):
            return dimension
        return dimension if -len(shape) <= dimension < len(shape) and shape[dimension] != 1 else None


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that `fully_shard` gathers together: the path of their module, and their names.

    gathers_again: the backward pass does so again.
    """

    path: str
    plan: FullyShard
    parameters: tuple[str, ...]
    gathers_again: bool


@dataclass(frozen=True)
class ParallelPlan:
    """A plan on a model: its modules with styles, in the order of the plan, and groups of parameters."""

    styled: tuple[StyledModule, ...]
    groups: tuple[ParameterGroup, ...]

    @staticmethod
    def of(given: object, mesh: Mesh, modules: Mapping[str, Module]) -> ParallelPlan:
        """The plan on modules by path. Raises `ShardyError` for unknown paths, axes and styles."""
        parts = _parts(given, mesh)
        for part in parts:
            for axis in part.every_axis if isinstance(part, FullyShard) else (part.axis,):
                if axis not in mesh.sizes:
                    raise ShardyError.unknown("axis of the plan", axis, list(mesh.sizes))
        styled = [
            each for part in parts if isinstance(part, TensorParallel) for each in _styled(part, modules)
        ]
        groups = _groups([part for part in parts if isinstance(part, FullyShard)], modules)
        _check_conflicts(styled, groups)
        return ParallelPlan(tuple(styled), groups)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of styles."""
        return tuple(dict.fromkeys(each.axis for each in self.styled))

    def dimensions_of(self, name: str, shape: Sequence[int | None]) -> dict[str, int]:
        """The dimension of a parameter that each axis shards, the most major axis of a dimension first.

        FSDP shards what tensor parallelism leaves on a device, so its axis is more minor.
        """
        found: dict[str, int] = {}
        for each in self.styled:
            if (dimension := each.dimension_of(name, shape)) is not None:
                found[each.axis] = dimension
        for group in self.groups:
            if name in group.parameters and shape:
                patterns = group.plan.dimensions.items()
                dimension = next((d for p, d in patterns if fnmatchcase(name, p)), 0)
                found |= dict.fromkeys(group.plan.axes, dimension)
        return found


def modules_of(model: Any) -> dict[str, Module]:
    """The modules of a model by path; of an exported one, those with ops and those with parameters."""
    if hasattr(model, "named_modules"):
        return {
            path: Module(path, name_of_class(cast("type[object]", type(module))), _own_names(path, module))
            for path, module in model.named_modules(remove_duplicate=False)
        }
    return _modules_of_exported(model)


def state_names(model: Any) -> tuple[str, ...]:
    """The full names of the parameters and buffers of a model, or of an exported one."""
    if not hasattr(model, "named_modules"):
        return tuple(model.state_dict)
    both = (*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False))
    return tuple(name for name, _ in both)


def _own_names(path: str, module: TorchModule) -> tuple[str, ...]:
    names = (name for name, _ in module.named_parameters(recurse=False))
    return tuple(f"{path}.{name}" if path else name for name in names)


def _modules_of_exported(exported: Exported) -> dict[str, Module]:
    kinds: dict[str, str] = {"": ""}
    for node in exported.graph.nodes:
        stack: Mapping[str, tuple[str, type | str]] = node.meta.get("nn_module_stack") or {}
        for path, kind in stack.values():
            path = path.partition("@")[0]
            kinds[path] = kinds.get(path) or name_of_class(kind)
    names = [*exported.graph_signature.parameters]
    for name in map(parameter_of, names):
        parts = name.split(".")
        for count in range(1, len(parts)):
            kinds.setdefault(".".join(parts[:count]), "")
    own: dict[str, list[str]] = {path: [] for path in kinds}
    for name in names:
        own[parameter_of(name).rpartition(".")[0]].append(name)
    return {path: Module(path, kind, tuple(own[path])) for path, kind in kinds.items()}


def _parts(given: object, mesh: Mesh) -> tuple[TensorParallel | FullyShard, ...]:
    if isinstance(given, TensorParallel | FullyShard):
        return (given,)
    if is_mapping(given):
        return (TensorParallel(_axis_of_styles(mesh), given),)
    if is_any_sequence(given) and not isinstance(given, str):
        return tuple(part for each in given for part in _parts(each, mesh))
    expected = "a plan: styles by module, TensorParallel(axis, styles), FullyShard(axis, modules), or a list"
    if inspect.isroutine(given):
        got, remedy = f"the function {given.__name__}", "pass what it returns"
        raise ShardyError.unexpected("", expected=expected, got=got, remedy=remedy)
    raise ShardyError.unexpected("", expected=expected, got=f"{given!r}")


def _axis_of_styles(mesh: Mesh) -> str:
    if len(mesh.axes) == 1:
        return mesh.axes[0].name
    likely = "tp" if "tp" in mesh.sizes else mesh.axes[-1].name
    raise ShardyError.unexpected(
        "a plan of styles on a mesh of several axes",
        expected="the axis they are along",
        got=f"mesh {mesh}",
        remedy=f'pass TensorParallel("{likely}", plan)',
    )


def _styled(plan: TensorParallel, modules: Mapping[str, Module]) -> Iterator[StyledModule]:
    for pattern, given in _flat(plan.styles):
        for path in _matching(pattern, modules):
            style = style_of(given, path, modules[path].kind)
            yield StyledModule(modules[path], plan.axis, style, type(given).__name__, plan.uneven)


def _flat(styles: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """The styles with their whole patterns, of plans within plans."""
    for pattern, given in styles.items():
        expect(pattern, str, 'the path of a module, as "layers.*"', what="key of a plan")
        whole = ".".join(filter(None, (above, pattern)))
        if is_mapping(given):
            yield from _flat(given, whole)
        else:
            yield whole, given


def _groups(plans: Sequence[FullyShard], modules: Mapping[str, Module]) -> tuple[ParameterGroup, ...]:
    """The groups of all plans: a parameter belongs to the innermost module that one of them names."""
    paths: dict[str, FullyShard] = {}
    for plan in plans:
        for path in {path: None for pattern in plan.modules for path in _matching(pattern, modules)}:
            if path in paths:
                remedy = "name each module once; FullyShard(axis, replicate=...) is HSDP"
                raise ShardyError(Diagnostic(f"{_quoted(path)} is fully sharded twice", remedy=remedy))
            paths[path] = plan
    by_path: dict[str, list[str]] = {path: [] for path in paths}
    for module in modules.values():
        around = [path for path in paths if not path or f"{module.path}.".startswith(f"{path}.")]
        if around:
            by_path[max(around, key=len)] += module.parameters
    return tuple(
        ParameterGroup(path, paths[path], tuple(names), paths[path].gathers_again(path, plans))
        for path, names in by_path.items()
        if names
    )


def _check_conflicts(styled: Sequence[StyledModule], groups: Sequence[ParameterGroup]) -> None:
    """Raises `ShardyError` for a parameter that a plan shards twice along one axis."""
    first: dict[tuple[str, str], StyledModule] = {}
    for each in styled:
        path = each.module.path
        if each.style.takes_parameters and (before := first.setdefault((path, each.axis), each)) is not each:
            raise ShardyError(
                Diagnostic(
                    f"{_quoted(path)} has two styles along '{each.axis}': {before.name} and {each.name}",
                    remedy="give each module one; the patterns of a plan may match one module twice",
                )
            )
        for group in groups:
            shared = [name for name in each.module.parameters if name in group.parameters]
            if each.style.takes_parameters and shared and each.axis in group.plan.every_axis:
                raise ShardyError(
                    Diagnostic(
                        f"{shared[0]}: {each.name} and FullyShard are both along '{each.axis}'",
                        remedy="torch takes two dimensions of a mesh: give one of them another axis",
                    )
                )


def _quoted(path: str) -> str:
    return f"module '{path}'" if path else "the whole model"


def _matches(path: str, pattern: str) -> bool:
    parts, patterns = path.split("."), pattern.split(".")
    is_whole = bool(path) == bool(pattern)
    return is_whole and len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def _around(path: str) -> Iterator[str]:
    """The paths of the modules around a module, the model first."""
    parts = path.split(".") if path else []
    return (".".join(parts[:count]) for count in range(len(parts)))


def _matching(pattern: str, modules: Mapping[str, Module]) -> list[str]:
    """The paths that a pattern matches part by part. Raises `ShardyError` if there are none."""
    found = [path for path in modules if _matches(path, pattern)]
    if not found:
        close = closest(pattern, modules, 3) or [path for path in modules if path][:8]
        raise ShardyError.unexpected(
            f"plan for '{pattern}'",
            expected=f"a module with ops or parameters, such as {', '.join(close)}",
            got="none of that path",
            remedy="remove it from the plan if it does nothing, as dropout in evaluation",
        )
    return found
