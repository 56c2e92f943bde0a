"""Observers of passes: IR dumps (`--mlir-print-ir-*`) and the time report (`--mlir-timing`)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp

from shardy_py.passes import PassCall

_RULE = f"===-{'-' * 73}-==="


@dataclass(slots=True)
class Stopwatch:
    """Seconds by name, in the order of first use; a name used again adds up."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def time(self, name: str) -> Generator[None]:
        """Adds the time spent inside to `name`."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start

    def report(self) -> str:
        """The report as MLIR prints it."""
        total = sum(self.seconds.values())
        rows = [*self.seconds.items(), ("Total", total)]
        lines = [_RULE, "... Execution time report ...".center(len(_RULE)).rstrip(), _RULE]
        lines += [f"  Total Execution Time: {total:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        lines += (f"  {s:>8.4f} ({s / total if total else 0:>6.1%})  {name}" for name, s in rows)
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class DumpIR:
    """Prints the module before and after the passes named; None: all of them."""

    names_before: tuple[str, ...] | None
    names_after: tuple[str, ...] | None
    print_module: Callable[[ModuleOp], str]
    write: Callable[[str], object]

    @contextmanager
    def __call__(self, call: PassCall | None, module: ModuleOp) -> Generator[None]:
        """Dumps around a pass; nothing around the verifier."""
        if call is None:
            yield
            return
        if self.names_before is None or call.row.name in self.names_before:
            self._dump("Before", call, module)
        outcome = " Failed"
        try:
            yield
            outcome = ""
        finally:
            if self.names_after is None or call.row.name in self.names_after:
                self._dump("After", call, module, outcome)

    def _dump(self, when: str, call: PassCall, module: ModuleOp, outcome: str = "") -> None:
        title = f"// -----// IR Dump {when} {call.row.class_name}{outcome} ({call.row.name}) //----- //"
        self.write(f"{title}\n{self.print_module(module)}\n\n")
