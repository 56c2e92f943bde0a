"""Control flow, tuples and tokens, calls, random numbers."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr

from shardy_py.mlir.dialects import kinds as k
from shardy_py.mlir.dialects.definition import (
    BRANCH_FLOW,
    CONDITIONAL_FLOW,
    FLAGGED,
    LOOP_FLOW,
    NO_EFFECT,
    OPERAND_FLOW,
    PURE,
    READS_CONSTANTS,
    RECURSIVE,
    TERMINATOR,
    OpRow,
    any_regions,
    many,
    optional,
    regions,
    slots,
)
from shardy_py.mlir.dialects.stablehlo import attribute_kinds as own
from shardy_py.mlir.dialects.stablehlo import forms
from shardy_py.mlir.dialects.stablehlo import type_kinds as t
from shardy_py.mlir.dialects.stablehlo.verify import control as rules
from shardy_py.mlir.dialects.stablehlo.verify import dynamic, host
from shardy_py.mlir.dialects.stablehlo.verify.traits import PAIRWISE, RETURN, follows_name, match
from shardy_py.mlir.dialects.template import Template, typed
from shardy_py.mlir.dialects.type_tails import RESULT, SAME, TUPLE

CONTROL = (
    OpRow(
        "after_all",
        operands=slots(inputs=many(t.TOKEN)),
        results=slots(result=t.TOKEN),
        traits=(PURE,),
        form=Template(" $inputs", SAME),
    ),
    OpRow(
        "case",
        operands=slots(index=t.I32),
        regions=any_regions("branches"),
        results=slots(results=many(t.VALUE)),
        traits=(
            RECURSIVE,
            BRANCH_FLOW,
        ),
        infer=rules.infer_branches,
        ends_with=RETURN,
    ),
    OpRow(
        "composite",
        operands=slots(inputs=many(t.VALUE_OR_TUPLE)),
        attributes=slots(
            name=k.STRING,
            composite_attributes=optional(k.DICTIONARY, {}),
            decomposition=k.SYMBOL,
            version=optional(k.I32, 0),
        ),
        regions=any_regions("composite_regions"),
        results=slots(results=many(t.VALUE_OR_TUPLE)),
        form=forms.COMPOSITE_FORM,
        verify_symbols=host.check_composite,
    ),
    OpRow("create_token", results=slots(output=t.TOKEN), traits=(PURE,), form=Template("", RESULT)),
    OpRow(
        "custom_call",
        operands=slots(inputs=many(t.CUSTOM)),
        attributes=slots(
            call_target_name=own.TARGET,
            has_side_effect=optional(k.BOOL, k.FALSE),
            backend_config=optional(k.CONFIG),
            api_version=optional(own.API_VERSION, 1),
            called_computations=optional(k.SYMBOLS, ()),
            operand_layouts=optional(own.LAYOUTS),
            result_layouts=optional(own.LAYOUTS),
            output_operand_aliases=optional(own.ALIASES, ArrayAttr(())),
            result_tilings=optional(own.TILINGS),
        ),
        results=slots(results=many(t.CUSTOM)),
        traits=(FLAGGED,),
        form=typed(" $call_target_name($inputs)"),
        verify=(follows_name(host.check_custom_call),),
    ),
    OpRow(
        "get_tuple_element",
        operands=slots(operand=t.TUPLE),
        attributes=slots(index=k.INDEX32),
        results=slots(result=t.ANYTHING),
        traits=(PURE,),
        form=typed(" $operand[$index]"),
        infer=rules.infer_tuple_element,
    ),
    OpRow(
        "if",
        operands=slots(pred=t.PRED),
        regions=regions("true_branch", "false_branch"),
        results=slots(results=many(t.VALUE)),
        traits=(
            RECURSIVE,
            CONDITIONAL_FLOW,
        ),
        infer=rules.infer_branches,
        ends_with=RETURN,
    ),
    OpRow(
        "optimization_barrier",
        operands=slots(operand=many(t.TENSOR_OR_TOKEN)),
        results=slots(result=many(t.TENSOR_OR_TOKEN)),
        traits=(
            PURE,
            OPERAND_FLOW,
        ),
        form=forms.BARRIER_FORM,
        verify=(PAIRWISE,),
    ),
    OpRow(
        "return",
        operands=slots(results=many(t.VALUE_OR_BUFFER)),
        traits=(
            PURE,
            TERMINATOR,
        ),
        form=forms.RETURN_FORM,
    ),
    OpRow(
        "rng",
        operands=slots(a=t.SCALAR_PRED_INT_FLOAT, b=t.SCALAR_PRED_INT_FLOAT, shape=t.SHAPE),
        attributes=slots(rng_distribution=own.RNG_DISTRIBUTION),
        results=slots(result=t.PRED_INT_FLOAT),
        traits=(READS_CONSTANTS,),
        form=typed(" $a, $b, $shape, distribution = $rng_distribution"),
        verify=(match("element type", "a", "b", "result"),),
        infer=dynamic.infer_rng,
    ),
    OpRow(
        "rng_bit_generator",
        operands=slots(initial_state=t.INT_FLOAT),
        attributes=slots(rng_algorithm=own.RNG_ALGORITHM),
        results=slots(output_state=t.INT_FLOAT, output=t.STATIC_INT_FLOAT),
        traits=(NO_EFFECT,),
        form=typed(" $initial_state, algorithm = $rng_algorithm"),
        verify=(host.check_rng_bit_generator,),
    ),
    OpRow(
        "tuple",
        operands=slots(val=many(t.ANYTHING)),
        results=slots(result=t.TUPLE),
        traits=(PURE,),
        form=Template(" $val", TUPLE),
        infer=rules.infer_tuple,
    ),
    OpRow(
        "while",
        operands=slots(operand=many(t.VALUE_OR_BUFFER)),
        regions=regions("cond", "body"),
        results=slots(results=many(t.VALUE_OR_BUFFER)),
        traits=(
            RECURSIVE,
            LOOP_FLOW,
        ),
        form=forms.WHILE_FORM,
        verify=(rules.check_while,),
        infer=rules.infer_operand_types,
        argument_names=forms.while_names,
        ends_with=RETURN,
    ),
)
"""The rows."""
