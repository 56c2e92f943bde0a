"""After every op all finite floats of an exact run are residues: no op is without a meaning in the field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardy_py.run.interpret.values import is_array
from shardy_py.run.proof.comparison import LocalObserver
from shardy_py.run.proof.exact_programs import ExactPrograms
from shardy_py.run.proof.exact_runs import RunKind
from shardy_py.run.proof.expected import Expected
from shardy_py.run.proof.field.residues import ORDERS, Residues
from shardy_py.run.proof.options import ProofOptions
from tests.run.proof.mutations.broken import Subject

PROGRAMS = ("fourier", "layer_norm", "mixed_precision", "normalization", "pooling")


def is_in_field(array: Any, field: Residues) -> bool:
    """True if all finite elements represent residues."""
    parts = (np.real(array), np.imag(array)) if array.dtype.kind == "c" else (array,)
    finite = [part[np.isfinite(part)] for part in parts]
    return all(
        bool(((np.rint(part) == part) & (part >= field.least) & (part <= field.greatest)).all())
        for part in finite
    )


def guarded(monkeypatch: pytest.MonkeyPatch, name: str, kind: RunKind) -> list[str]:
    """The ops of a program whose results are not in the field."""
    outside: list[str] = []

    def watched(observe: Any) -> Any:
        def watch(self: Any, op: Any, devices: Any, results: Any) -> Any:
            field = programs.field
            floats = (a for a in results if is_array(a) and a.dtype.kind in "fc")
            outside.extend(op.name for array in floats if not is_in_field(array, field))
            return observe(self, op, devices, results)

        return watch

    for observer in (Expected, LocalObserver):
        monkeypatch.setattr(observer, "observe", watched(observer.observe))
        monkeypatch.setattr(observer, "observed", lambda self, op: True)
    programs = ExactPrograms(Subject.named(name).whole, ProofOptions())
    with np.errstate(all="ignore"):
        programs.run(1, kind)
    return outside


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=PROGRAMS)
def test_every_op_gives_residues(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    kind = RunKind(ORDERS[number % 3], is_cut=number % 2 == 0)
    assert not guarded(monkeypatch, PROGRAMS[number], kind)


def test_an_op_that_is_not_reduced_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Residues, "_placed", lambda self, array: array)
    assert "stablehlo.subtract" in guarded(monkeypatch, "layer_norm", RunKind("middle"))
