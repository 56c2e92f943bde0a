"""Recording what passes do to shardings: all passes run within add to one record.

    with recording() as record:
        pipeline.propagate(module)
    Explainer(record, module).explain(value)     from shardy_py.report.explain

Recording changes nothing about the passes, and costs little: the record is read when it is asked. Not here:
what it holds (`graph/run_record.py`).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from shardy_py.graph.movements import recorded
from shardy_py.graph.run_record import Record

__all__ = ["Record", "recording"]


@contextmanager
def recording() -> Generator[Record]:
    """The record to which all passes within add; passes run elsewhere are not in it."""
    with recorded() as events:
        yield Record(events)
