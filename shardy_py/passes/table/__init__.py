"""The list of passes, in the order of the pipelines; the only such list, in three parts.

A row has the name of a pass, what it does, its module below `shardy_py`, and its options. Modules are named
by strings because `sdy-opt --help` must load neither passes nor xDSL; a test loads each. The name of a pass
gives that of its function: `sdy-close-shardings` is `close_shardings`.

`needs`: without any of these ops, and without options, a pass changes nothing, so it need not run. `tracked`:
it adds and moves ops by `mlir.ir` alone, so that the list of all ops serves the next pass, too.
"""

from __future__ import annotations

from shardy_py.passes.table.export import EXPORT
from shardy_py.passes.table.shardy import IMPORT, PROPAGATION
from shardy_py.passes.table.xla import PREPARATION, READING, WRITING

PASSES = (*READING, *PREPARATION, *IMPORT, *PROPAGATION, *EXPORT, *WRITING)
"""The passes."""
