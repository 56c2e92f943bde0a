"""A plugin: the dialect `signal`, whose op transforms rows, and a pass that names its ops."""

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def

from shardy_py.mlir.dialects import register_dialect
from shardy_py.mlir.dialects.sdy import ShardingRuleOpInterface
from shardy_py.mlir.ir import find_ops
from shardy_py.ops import OpRecord
from shardy_py.passes import register_pass
from shardy_py.propagation.rules import einsum_rule
from shardy_py.sharding import ShardingRule


class RowsRule(ShardingRuleOpInterface):
    """Rows are independent."""

    def sharding_rule(self, record: OpRecord) -> ShardingRule:
        """Columns need replication."""
        return einsum_rule(
            "b n -> b n", record.operands, record.results, need_replication=["n"], is_custom=False
        )


@irdl_op_definition
class FftOp(IRDLOperation):
    """Transforms each row."""

    name = "signal.fft"
    signal = operand_def(TensorType)
    spectrum = result_def(TensorType)
    traits = traits_def(RowsRule())


def name_transforms(module: ModuleOp) -> None:
    """Numbers the transforms of a program."""
    for number, op in enumerate(find_ops(module, FftOp.name)):
        op.attributes["signal.name"] = StringAttr(f"fft {number}")


register_dialect(Dialect("signal", [FftOp]))
register_pass("signal-name-transforms", name_transforms)
