"""Findings of one source line as one: layers of a model repeat them, forward, backward and rematerialized.

Only lines of Python are grouped: in MLIR each op has a line of its own. Not here: how groups are printed
(`texts.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shardy_py.check.finding import Finding

_VALUES = re.compile(r"%[\w.$-]+(#\d+)?|\d[\d.,]*( [kMGTP]?B\b)?")
_LAYER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Group:
    """Findings of one rule, on one line, with one message up to names and numbers; the first stands for all.

    phases: how many are forward, backward or rematerialized; {} if the program has no derivatives.
    """

    findings: tuple[Finding, ...]
    phases: Mapping[str, int]

    @property
    def first(self) -> Finding:
        """The first in program order."""
        return self.findings[0]

    @property
    def count(self) -> int:
        """The number of findings."""
        return len(self.findings)

    @property
    def bytes(self) -> int:
        """Of all, each as often as its collective runs."""
        return sum(finding.bytes * finding.times for finding in self.findings)

    @property
    def layers(self) -> int:
        """The number of layers: scopes that differ by a number only; 0 if there are none."""
        scopes = {each.scope for each in self.findings if each.scope}
        numbers = {tuple(_LAYER.findall(scope)) for scope in scopes}
        return len(numbers) if len({_LAYER.sub("#", scope) for scope in scopes}) < len(scopes) else 0


def grouped(findings: Iterable[Finding]) -> tuple[Group, ...]:
    """Returns the groups in the order of their first findings."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        place = finding.position
        key: tuple[object, ...] = (number,)
        if place is not None and place.file.endswith(".py"):
            key = (finding.code, finding.level, place.file, place.line, _VALUES.sub("#", finding.message))
        groups.setdefault(key, []).append(finding)
    return tuple(Group(tuple(members), _phases(members)) for members in groups.values())


def _phases(findings: Iterable[Finding]) -> dict[str, int]:
    """Forward, backward or rematerialized, by the names that JAX gives to transposed and repeated ops."""
    found = Counter(phase(finding.scope) for finding in findings)
    del found[""]
    return dict(found) if set(found) != {"forward"} else {}


def phase(scope: str) -> str:
    """Returns which pass of a program with derivatives ops of a scope belong to; "" if it is unknown.

    >>> phase("jit(step)/jvp(layer_0)/dot"), phase("jit(step)/transpose(jvp(layer_0))/dot")
    ('forward', 'backward')
    """
    if not scope:
        return ""
    if "rematted_computation" in scope:
        return "rematerialized"
    return "backward" if "transpose(" in scope else "forward"
