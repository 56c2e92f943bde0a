"""Findings of one source line as one: layers of a model repeat them, forward, backward and rematerialized.

Only lines of Python are grouped: in MLIR each op has a line of its own. So are arguments and results of alike
layers. Not here: how groups are printed
(`texts.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from shardy_py.base.records import dataclass
from shardy_py.check.finding import Finding
from shardy_py.report.verdict import family_name, layer_count, phases

_VALUES = re.compile(r"%[\w.$-]+(#\d+)?|\d[\d.,]*( [kMGTP]?B\b)?")
_LAYER = re.compile(r"\d+")
_KEY = re.compile(r"\[[^\]]*\]|\.\w+")
"""A part of the path of an argument or result, as JAX writes it: `params['layers'][0]['w']`."""


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one rule with one message up to names and numbers; the first stands for all.

    They are on one line, or on arguments or results whose paths differ in numbers of layers.

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
        """The bytes of all, each as often as its collective runs."""
        return sum(finding.bytes * finding.times for finding in self.findings)

    @property
    def layers(self) -> int:
        """The number of layers: scopes that differ by a number only; 0 if there are none."""
        return layer_count(each.scope for each in self.findings)


def grouped(findings: Iterable[Finding]) -> tuple[FindingGroup, ...]:
    """Returns the groups in the order of their first findings."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        place = finding.position
        key: tuple[object, ...] = (number,)
        message = _VALUES.sub("#", finding.message)
        if place is not None and place.file.endswith(".py"):
            key = (finding.code, finding.level, place.file, place.line, message)
        elif place is None and (path := _path_in_layers(finding.subject)):
            key = (finding.code, finding.level, finding.function, path, message)
        groups.setdefault(key, []).append(finding)
    return tuple(
        FindingGroup(tuple(members), phases(f.scope for f in members)) for members in groups.values()
    )


def _path_in_layers(subject: str) -> str:
    """The path of an argument or result with the numbers of layers left out; "" if it has none.

    Numbers of the first part and of the last are not those of layers.

    >>> _path_in_layers("result[1]['layers'][0]['w1']")
    "result[1]['layers'][#]['w1']"
    """
    if ".*." in (family := family_name(subject)):
        return family
    keys = [*_KEY.finditer(subject)]
    inner = "".join(_LAYER.sub("#", key[0]) for key in keys[1:-1])
    return subject[: keys[0].end()] + inner + keys[-1][0] if "#" in inner else ""
