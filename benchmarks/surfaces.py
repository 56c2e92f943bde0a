"""What users do with a program, as steps that are timed one by one: `steps(text, folder)`.

Not here: the programs (`families.py`, `sharded_families.py`), the measurement (`growth.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from shardy_py import P, Program, Result, propagate
from shardy_py.api.local_program import LocalProgram
from shardy_py.check import check, findings_json, findings_sarif, findings_text
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.value_table import ValueTable
from shardy_py.passes.pipelines import before_propagation_passes, stablehlo_export_passes
from shardy_py.passes.runner import run_passes
from shardy_py.report import local_shapes_data, local_shapes_text, local_values, view
from shardy_py.report.communication import Partitioner, communication_json
from shardy_py.report.difference import Figures, difference, difference_text
from shardy_py.report.memory import memory_json
from shardy_py.report.time import time_json

Steps = dict[str, Callable[[], object]]
ASKED = 50
"""Values that are asked about one by one."""


class Subject:
    """A program and what the steps share; each is made on first use."""

    def __init__(self, text: str, folder: Path) -> None:
        self.text = text
        self.folder = folder

    @cached_property
    def module(self) -> ModuleOp:
        """The program as it is read."""
        return parse_module(self.text)

    @cached_property
    def source(self) -> Program:
        """The program."""
        return Program.from_module(self.module)

    @cached_property
    def result(self) -> Result:
        """The propagated program."""
        return propagate(self.source, progress=False)

    @cached_property
    def compiled(self) -> Program:
        """The program changed as XLA does before propagation."""
        return Program(run_passes(parse_module(self.text), before_propagation_passes()))

    @cached_property
    def local(self) -> LocalProgram:
        """The program of each device."""
        return self.result.partition()

    def diff(self) -> None:
        """Compares the program before and after propagation."""
        before, after = self.result.source, self.result.program
        figures = Figures.of(self.result.communication(), self.result.memory())
        delta = difference(ValueTable(before.module), ValueTable(after.module))
        difference_text(delta, figures, figures)

    def communication(self, partitioner: Partitioner) -> None:
        """The report in its forms."""
        report = self.result.communication(partitioner=partitioner)
        _ = str(report), communication_json(report), report.to_csv(), report._repr_html_()

    def causes(self) -> None:
        """The annotations that conflict at each collective, of the first many."""
        for use in self.result.communication(partitioner="shardy").sending[:ASKED]:
            self.result.sides(use)

    def memory(self, target: Any, partitioner: Partitioner) -> None:
        """The report in its forms."""
        report = self.result.memory(target, partitioner=partitioner)
        _ = str(report), memory_json(report), report.to_csv(), report.memory_bytes

    def time(self, partitioner: Partitioner) -> None:
        """The report in its forms."""
        report = self.result.time("h100", partitioner=partitioner)
        _ = str(report), time_json(report), report.to_csv()

    def traces(self) -> None:
        """The files for Perfetto and ASTRA-sim."""
        report = self.result.time("h100", partitioner="shardy")
        report.trace(self.folder / "trace.json")

    def chakra(self) -> None:
        """The files for ASTRA-sim."""
        self.result.time("h100", partitioner="shardy").chakra(self.folder / "chakra")

    def explained(self) -> None:
        """The explanations of values from first to last."""
        for value in self._asked():
            str(self.result.explain(value))

    def why_not(self) -> None:
        """The reasons that values from first to last are not sharded along x."""
        for value in self._asked():
            if value.shape:
                str(self.result.why_not(value, 0, "x"))

    def _asked(self) -> list[Any]:
        values = [*self.result.values]
        return values[:: max(1, len(values) // ASKED)]

    def checked(self) -> None:
        """The findings in their forms."""
        findings = check(self.result)
        _ = findings_text(findings), findings_json(findings), findings_sarif(findings, "program.mlir")

    def what_if(self) -> None:
        """Two edits of an argument, whose figures and changes are read."""
        values = self.result.source.values.arguments()
        for sharding in (None, P()):
            found = self.result.what_if({values[0]: sharding})
            _ = str(found), found.figures, found.changes

    def what_if_constrained(self) -> None:
        """An edit that no study answers: a constraint."""
        found = self.result.what_if({self.result.source.values[len(self.result.source.values) // 2]: P()})
        _ = str(found), found.figures, found.changes

    def suggested(self) -> None:
        """Plans, by a few tries."""
        str(self.source.suggest(tries=4, time_limit=3600, progress=False))

    def shapes(self) -> None:
        """The local shapes, in their forms, and the slices and pictures of a few values."""
        values = local_values(self.result.program.module)
        _ = local_shapes_text(values), local_shapes_data(values)
        _ = [(value.local_shape, value.label, value.location) for value in self.result.values]
        for value in values[:8]:
            if value.sharding is not None and None not in value.type.shape:
                view.describe(value.sharding, value.mesh, value.type.shape)

    def proved(self) -> None:
        """The proof, of each op alone."""
        str(self.local.prove(shapes="ops"))

    def saved(self) -> None:
        """A file of the result, written and read."""
        self.result.save(self.folder / "result.sdy")
        str(Result.load(self.folder / "result.sdy"))

    def ran(self) -> None:
        """The program, run on zeros."""
        import numpy as np

        given = {
            str(value): np.zeros([n or 1 for n in value.shape or ()], np.float32)
            for value in self.source.values.arguments()
        }
        self.source.run(given)

    def explorer(self, partitioner: Partitioner) -> None:
        """The page."""
        self.result.explorer(partitioner=partitioner).save(self.folder / "page.html")

    def model_explorer(self) -> None:
        """The graphs and their data."""
        graphs = self.result.model_explorer()
        _ = graphs.text(), graphs.write_node_data(self.folder)

    def local_reports(self) -> None:
        """The reports on the local program."""
        _ = str(self.local.memory()), str(self.local.communication())


def steps(text: str, folder: Path) -> Steps:
    """The steps of reading a program and of all that follows, to be called in this order."""
    all_ = Subject(text, folder)
    return {
        "read": lambda: all_.module,
        "verify": lambda: verify_module(all_.module),
        "source": lambda: all_.source,
        "propagate": lambda: all_.result,
        "print": lambda: print_module(all_.result.program.module),
        "print locations": lambda: all_.result.program.text(debuginfo=True),
        "values": lambda: [(str(value), value.sharding) for value in all_.result.values],
        "communication": lambda: all_.communication("shardy"),
        "causes": all_.causes,
        "communication xla": lambda: all_.communication("xla"),
        "memory": lambda: all_.memory("tpu", "shardy"),
        "memory device": lambda: all_.memory("tpu-v5e", "xla"),
        "memory h100": lambda: all_.memory("h100", "xla"),
        "time": lambda: all_.time("shardy"),
        "time xla": lambda: all_.time("xla"),
        "trace": all_.traces,
        "chakra": all_.chakra,
        "summary": lambda: all_.result.summary(),
        "shapes": all_.shapes,
        "check": all_.checked,
        "diff": all_.diff,
        "explain": all_.explained,
        "why not": all_.why_not,
        "view": lambda: (all_.result._repr_html_(), repr(all_.result)),
        "explorer": lambda: all_.explorer("shardy"),
        "explorer xla": lambda: all_.explorer("xla"),
        "model explorer": all_.model_explorer,
        "export": lambda: run_passes(all_.result.program.copy().module, stablehlo_export_passes()),
        "partition": lambda: all_.local,
        "print partitioned": lambda: all_.local.text(),
        "local reports": all_.local_reports,
        "prove": all_.proved,
        "run": all_.ran,
        "save": all_.saved,
        "compiled": lambda: all_.compiled,
        "what if": all_.what_if,
        "what if constrained": all_.what_if_constrained,
        "suggest": all_.suggested,
    }
