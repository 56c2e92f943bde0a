"""Branches of an optimizer on elements of tensors: all paths are run, and conditions choose the results.

    if cosine.max() < limit:           a step for each side, and torch.where(cosine.max() < limit, one, other)
        update = update - projected

Python takes one side of a branch. So the step runs once for each path, and each condition is answered as the
path has it. A condition that is computed from one parameter, its gradient and states branches for that one
alone: all parameters take their first paths in the first run, their second ones in the second.

Not here: the step (`optimizers.py`), what a tensor is computed from (`dependence.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import reduce

from shardy_py.api import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import TorchTensor

Sources = Callable[[TorchTensor], frozenset[str]]
"""The parameters that a tensor is computed from, by name."""
Script = Mapping[str, tuple[bool, ...]]
"""The first answers of a path, by parameter; later ones are False."""
Results = Mapping[str, Mapping[str, TorchTensor]]
"""The tensors that a run makes, by the parameter that has them, and name; "" has those of all."""
MOST = 16
"""The most paths of a parameter."""
_TOGETHER = ""
"""In place of a parameter: conditions that are computed from several."""


@dataclass(frozen=True)
class Branches:
    """One run. conditions: by parameter, in order, with the answers; filled while it runs.

    is_joint: all parameters branch together.
    """

    script: Script
    is_joint: bool = False
    conditions: dict[str, list[tuple[TorchTensor, bool]]] = field(
        default_factory=dict[str, list[tuple[TorchTensor, bool]]]
    )

    def answer(self, condition: TorchTensor, sources: frozenset[str]) -> bool:
        """The side that the path takes where code branches on a tensor."""
        (name,) = sources if len(sources) == 1 and not self.is_joint else (_TOGETHER,)
        made = self.conditions.setdefault(name, [])
        if len(made) == MOST:
            raise ShardyError.unsupported(
                f"a step with more than {MOST} branches on elements of tensors", remedy="use torch.where"
            )
        script = self.script.get(name, ())
        side = script[len(made)] if len(made) < len(script) else False
        made.append((condition, side))
        return side

    def together(self) -> None:
        """Has all parameters branch together: something that they share depends on their conditions."""
        self.conditions.setdefault(_TOGETHER, [])

    def sides(self, name: str) -> tuple[bool, ...]:
        """The answers for a parameter."""
        return tuple(side for _, side in self.conditions.get(name, ()))

    def is_taken(self, name: str) -> TorchTensor | None:
        """The tensor that is true if a parameter takes this path; None if it has no branches."""
        torch = torch_module("torch")
        answers = [
            torch.eq(condition.reshape(()).to(torch.bool), side)
            for condition, side in self.conditions.get(name, ())
        ]
        return reduce(torch.logical_and, answers) if answers else None


def over_all_paths(run: Callable[[Branches], Results]) -> Results:
    """The results of a step, each chosen by the conditions of the parameter that has it.

    run: a step on copies of everything. Raises `ShardyError` for more than `MOST` paths.
    """
    found = _explored(run, is_joint=False) or _explored(run, is_joint=True)
    first, results = found[0]
    return {name: _chosen(_TOGETHER if first.is_joint else name, name, found) for name in results}


def _explored(run: Callable[[Branches], Results], *, is_joint: bool) -> list[tuple[Branches, Results]]:
    """Every path, the first with all answers False; none if parameters have to branch together."""
    found: list[tuple[Branches, Results]] = []
    path: Branches | None = Branches({}, is_joint)
    while path is not None:
        if len(found) == MOST:
            raise ShardyError.unsupported(
                f"a step with more than {MOST} paths through branches on elements of tensors",
                remedy="use torch.where",
            )
        found.append((path, run(path)))
        if _TOGETHER in path.conditions and not is_joint:
            return []
        path = _after(path)
    return found


def _after(path: Branches) -> Branches | None:
    """The next path of every parameter that has one; None if none has."""
    scripts: dict[str, tuple[bool, ...]] = {}
    is_new = False
    for name in path.conditions:
        sides = path.sides(name)
        kept = sides[: max((i + 1 for i, side in enumerate(sides) if not side), default=0)]
        is_new = is_new or bool(kept)
        scripts[name] = (*kept[:-1], True) if kept else sides
    return Branches(scripts, path.is_joint) if is_new else None


def _chosen(owner: str, name: str, found: list[tuple[Branches, Results]]) -> Mapping[str, TorchTensor]:
    """The results that one has, of the path that its conditions take."""
    own: dict[tuple[bool, ...], tuple[Branches, Results]] = {}
    for path, results in found:
        own.setdefault(path.sides(owner), (path, results))
    *others, (_, last) = own.values()
    chosen = dict(last[name])
    where = torch_module("torch").where
    for path, results in reversed(others):
        taken = path.is_taken(owner)
        chosen = {
            key: value if value is chosen.get(key) else where(taken, value, chosen[key])
            for key, value in results[name].items()
            if key in chosen
        }
    return chosen
