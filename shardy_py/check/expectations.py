"""Expected communication: collectives of a kind, along given axes, anywhere or at one place.

    Expectation.parse("all_gather:fsdp"), Expectation.parse("all_reduce:data,fsdp:model.py:36")

Findings on such collectives are counted instead of reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.check.finding import Finding
from shardy_py.report.communication import SENDING_KINDS


@dataclass(frozen=True, slots=True)
class Expectation:
    """Collectives of one kind along these axes of the mesh, in any order; of a file and line if given."""

    kind: str
    axes: tuple[str, ...]
    file: str = ""
    line: int = 0

    @staticmethod
    def parse(text: str) -> Expectation:
        """Returns the expectation that a text such as `all_gather:fsdp,data:model.py:36` states.

        Raises:
            ShardyError: the text has another form, or the kind is unknown.
        """
        kind, _, rest = text.partition(":")
        names, _, place = rest.partition(":")
        axes = tuple(filter(None, (name.strip() for name in names.split(","))))
        file, _, line = place.rpartition(":") if place else ("", "", "")
        is_line = line.isascii() and line.isdigit() and len(line) < 10
        if not axes or (place and not (file and is_line)):
            expected = "KIND:AXES or KIND:AXES:FILE:LINE, such as all_gather:fsdp"
            raise ShardyError.unexpected("", expected=expected, got=f"'{text}'")
        if kind not in SENDING_KINDS:
            raise ShardyError.unknown("collective", kind, sorted(SENDING_KINDS))
        return Expectation(kind, axes, file, int(line) if line else 0)

    def matches(self, finding: Finding) -> bool:
        """Returns whether a finding is on such a collective."""
        if finding.kind != self.kind or set(finding.axes) != set(self.axes):
            return False
        place = finding.position
        if not self.file:
            return True
        is_file = place is not None and (place.file == self.file or place.file.endswith(f"/{self.file}"))
        return is_file and place is not None and place.line == self.line

    def __str__(self) -> str:
        where = f" at {self.file}:{self.line}" if self.file else ""
        return f"{self.kind} along {', '.join(self.axes)}{where}"


@dataclass(frozen=True, slots=True)
class Met:
    """The number of findings that an expectation covers, and the bytes a device receives for them."""

    expectation: Expectation
    count: int
    bytes: int


def without_expected(
    findings: Sequence[Finding], expected: Sequence[Expectation], axes: Iterable[str] | None
) -> tuple[tuple[Finding, ...], tuple[Met, ...]]:
    """Returns the findings that no expectation covers, and what each covers.

    axes: of the program's meshes; None: expectations may name any.

    Raises:
        ShardyError: an expectation names an axis that no mesh has.
    """
    known = [*dict.fromkeys(axes or ())]
    for expectation in expected:
        for axis in expectation.axes:
            if axes is not None and axis not in known:
                raise ShardyError.unknown("axis", axis, known)
    covered: dict[Expectation, list[Finding]] = {expectation: [] for expectation in expected}
    left: list[Finding] = []
    for finding in findings:
        match = next((each for each in expected if each.matches(finding)), None)
        (left if match is None else covered[match]).append(finding)
    met = (Met(e, len(each), sum(f.bytes * f.times for f in each)) for e, each in covered.items())
    return tuple(left), tuple(met)
