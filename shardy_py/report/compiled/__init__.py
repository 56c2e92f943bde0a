"""Programs beside what compilers made of them, and what two compilers made of one program.

    compiled_report(...)      collectives of a compiled program, each with the forecast one that it is
    versions_of(a, b)         what changed between two compiled programs, by line

Not here: reading HLO (`hlo/`), the join (`report/join/`), the forecast (`report/communication/`).
"""

from shardy_py.report.compiled.report import CompiledReport, JoinedCollective
from shardy_py.report.compiled.reporting import compiled_report, device_of
from shardy_py.report.compiled.versions import VersionsReport, versions_of

__all__ = [
    "CompiledReport",
    "JoinedCollective",
    "VersionsReport",
    "compiled_report",
    "device_of",
    "versions_of",
]
