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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, cast

from shardy_py.api import Mesh, ShardyError
from shardy_py.base.errors import closest
from shardy_py.base.narrowing import is_any_sequence, is_mapping
from shardy_py.frontends.torch.protocols import Exported, TorchModule
from shardy_py.frontends.torch.styles import Style, style_of


@dataclass(frozen=True)
class TensorParallel:
    """A plan of `parallelize_module` along one axis of the mesh.

    styles: by the path of modules, in which each part may be a pattern (`layers.*.up`; `*` is one part, as in
    torch), objects of `torch.distributed.tensor.parallel`, or plans below a path.
    """

    axis: str
    styles: Mapping[str, object]


@dataclass(frozen=True)
class FullyShard:
    """FSDP2's `fully_shard`: parameters are sharded along `axis`, gathered before use.

    modules: those that `fully_shard` is called on, as patterns; a parameter belongs to the innermost of them,
        and what belongs to one is gathered together. "" is the whole model.
    replicate: a second axis along which parameters are replicated (HSDP); gradients are reduced along it.
    reshard_after_forward: gathered again for the backward pass; None: all but what belongs to the whole
        model, as in torch.
    dimensions: by pattern of parameter names, the dimension to shard; else 0.
    """

    axis: str
    modules: tuple[str, ...] = ("",)
    replicate: str | None = None
    reshard_after_forward: bool | None = None
    dimensions: Mapping[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        if isinstance(self.modules, str):
            object.__setattr__(self, "modules", (self.modules,))


@dataclass(frozen=True)
class Module:
    """A module of the exported model: its path, the name of its class, the names of its parameters."""

    path: str
    kind: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class StyledModule:
    """A module with the style of a plan, along an axis."""

    module: Module
    axis: str
    style: Style


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that `fully_shard` gathers together: the path of their module, and their names."""

    path: str
    plan: FullyShard
    parameters: tuple[str, ...]

    @property
    def gathers_again(self) -> bool:
        """True if the backward pass gathers the parameters again."""
        given = self.plan.reshard_after_forward
        return bool(self.path) if given is None else given


@dataclass(frozen=True)
class ParallelPlan:
    """A plan on a model: its modules with styles, in the order of the plan, and groups of parameters."""

    styled: tuple[StyledModule, ...]
    groups: tuple[ParameterGroup, ...]

    @staticmethod
    def of(given: object, mesh: Mesh, modules: Mapping[str, Module]) -> ParallelPlan:
        """The plan on modules by path. Raises `ShardyError` for unknown paths, axes and styles."""
        styled: list[StyledModule] = []
        groups: list[ParameterGroup] = []
        for part in _parts(given, mesh):
            for axis in filter(None, (part.axis, getattr(part, "replicate", None))):
                if axis not in mesh.sizes:
                    raise ShardyError.unknown("axis of the plan", axis, list(mesh.sizes))
            if isinstance(part, TensorParallel):
                styled += _styled(part, modules)
            else:
                groups += _groups(part, modules)
        return ParallelPlan(tuple(styled), tuple(groups))

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of styles."""
        return tuple(dict.fromkeys(each.axis for each in self.styled))

    def dimensions_of(self, name: str, rank: int) -> dict[str, int]:
        """The dimension of a parameter that each axis shards, the most major axis of a dimension first.

        FSDP shards what tensor parallelism leaves on a device, so its axis is more minor.
        """
        found: dict[str, int] = {}
        for each in self.styled:
            if name in each.module.parameters:
                own = name.removeprefix(f"{each.module.path}.")
                dimension = each.style.parameters(own)
                if dimension is not None:
                    found[each.axis] = dimension
        for group in self.groups:
            if name in group.parameters and rank:
                patterns = group.plan.dimensions.items()
                found[group.plan.axis] = next((d for p, d in patterns if fnmatchcase(name, p)), 0)
        return found


def modules_of(model: Any) -> dict[str, Module]:
    """The modules of a model by path; of an exported one, those with ops and those with parameters."""
    if hasattr(model, "named_modules"):
        return {
            path: Module(path, _kind(cast("type[object]", type(module))), _own_names(path, module))
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


def _kind(module_class: type) -> str:
    return f"{module_class.__module__}.{module_class.__qualname__}"


def _modules_of_exported(exported: Exported) -> dict[str, Module]:
    kinds: dict[str, str] = {"": ""}
    for node in exported.graph.nodes:
        stack: Mapping[str, tuple[str, type | str]] = node.meta.get("nn_module_stack") or {}
        for path, kind in stack.values():
            path = path.partition("@")[0]
            kinds[path] = kinds.get(path) or (kind if isinstance(kind, str) else _kind(kind))
    names = [*exported.graph_signature.parameters]
    for name in names:
        parts = name.split(".")
        for count in range(1, len(parts)):
            kinds.setdefault(".".join(parts[:count]), "")
    own: dict[str, list[str]] = {path: [] for path in kinds}
    for name in names:
        own[name.rpartition(".")[0]].append(name)
    return {path: Module(path, kind, tuple(own[path])) for path, kind in kinds.items()}


def _parts(given: object, mesh: Mesh) -> tuple[TensorParallel | FullyShard, ...]:
    if isinstance(given, TensorParallel | FullyShard):
        return (given,)
    if is_mapping(given):
        return (TensorParallel(_axis_of_styles(mesh), given),)
    if is_any_sequence(given) and not isinstance(given, str):
        return tuple(part for each in given for part in _parts(each, mesh))
    expected = "a plan: styles by module, TensorParallel(axis, styles), FullyShard(axis, modules), or a list"
    raise ShardyError.unexpected("", expected=expected, got=f"{given!r}")


def _axis_of_styles(mesh: Mesh) -> str:
    if len(mesh.axes) == 1:
        return mesh.axes[0].name
    if "tp" in mesh.sizes:
        return "tp"
    raise ShardyError.unexpected(
        "a plan of styles on a mesh of several axes",
        expected="the axis they are along",
        got=f"mesh {mesh}",
        remedy=f'pass TensorParallel("{mesh.axes[-1].name}", plan)',
    )


def _styled(plan: TensorParallel, modules: Mapping[str, Module]) -> Iterator[StyledModule]:
    for pattern, given in _flat(plan.styles):
        for path in _matching(pattern, modules):
            yield StyledModule(modules[path], plan.axis, style_of(given, path, modules[path].kind))


def _flat(styles: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """The styles with their whole patterns, of plans within plans."""
    for pattern, given in styles.items():
        whole = ".".join(filter(None, (above, pattern)))
        if is_mapping(given):
            yield from _flat(given, whole)
        else:
            yield whole, given


def _groups(plan: FullyShard, modules: Mapping[str, Module]) -> Iterator[ParameterGroup]:
    paths = {path: None for pattern in plan.modules for path in _matching(pattern, modules)}
    by_path: dict[str, list[str]] = {path: [] for path in paths}
    for module in modules.values():
        around = [path for path in paths if not path or f"{module.path}.".startswith(f"{path}.")]
        if around:
            by_path[max(around, key=len)] += module.parameters
    for path, names in by_path.items():
        if names:
            yield ParameterGroup(path, plan, tuple(names))


def _matching(pattern: str, modules: Mapping[str, Module]) -> list[str]:
    """The paths that a pattern matches part by part. Raises `ShardyError` if there are none."""
    parts = pattern.split(".")
    found = [
        path
        for path in modules
        if len(path.split(".")) == len(parts) and all(map(fnmatchcase, path.split("."), parts))
    ]
    if not found:
        close = closest(pattern, modules, 3) or [path for path in modules if path][:8]
        raise ShardyError.unexpected(
            f"plan for '{pattern}'",
            expected=f"a module with ops or parameters, such as {', '.join(close)}",
            got="none of that path",
            remedy="remove it from the plan if it does nothing, as dropout in evaluation",
        )
    return found
