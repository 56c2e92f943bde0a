"""`sdy-auto-partition`: runs the user's own partitioner, and checks that it changes nothing but shardings.

    register_auto_partitioner(shard_the_rest)

    before  func.func @main(%a: tensor<8xf32>)
    after   func.func @main(%a: tensor<8xf32> {sdy.sharding = ...})      what `shard_the_rest` decided

Not here: registering it (`auto_partitioner.py`), what counts as a change (`graph/structure.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.dialects.verification import verify_module
from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.graph.structure import first_change, structure
from shardy_py.passes.auto_partitioner import registered_auto_partitioner
from shardy_py.text.source import position_of


@dataclass(frozen=True)
class AutoPartitionPass(ModulePass):
    """Runs the registered partitioner."""

    name = "sdy-auto-partition"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        partitioner = registered_auto_partitioner()
        before = structure(op)
        try:
            partitioner(op)
        except ShardyError:
            raise
        except Exception as error:
            raise ShardyError(f"the auto-partitioner failed: {type(error).__name__}: {error}") from error
        change = first_change(before, structure(op))
        if change is not None:
            changed, what = change
            message = f"an auto-partitioner may add and change shardings only; '{changed.name}': {what}"
            raise ShardyError(Diagnostic(message, position_of(changed.location)))
        verify_module(op)
