"""Control flow, tuples and tokens, calls, random numbers."""

from __future__ import annotations

from shardy_py.mlir.dialects.definition import OpRow
from shardy_py.mlir.dialects.stablehlo import forms
from shardy_py.mlir.dialects.stablehlo.verify import control as rules
from shardy_py.mlir.dialects.stablehlo.verify import dynamic, host
from shardy_py.mlir.dialects.stablehlo.verify.traits import PAIRWISE, follows_name, match
from shardy_py.mlir.dialects.template import Template, typed
from shardy_py.mlir.dialects.type_tails import RESULT, SAME, TUPLE

CONTROL = (
    OpRow("pure after_all(inputs*:token) -> result:token", form=Template(" $inputs", SAME)),
    OpRow("recursive branch_flow case(index:i32) [branches*] -> results*:value", infer=rules.infer_branches),
    OpRow(
        "composite(inputs*:value_or_tuple)"
        " <name:string composite_attributes?:dictionary={} decomposition:symbol version?:i32=0>"
        " [composite_regions*] -> results*:value_or_tuple",
        form=forms.COMPOSITE_FORM,
        verify_symbols=host.check_composite,
    ),
    OpRow("pure create_token() -> output:token", form=Template("", RESULT)),
    OpRow(
        "flagged custom_call(inputs*:custom) <call_target_name:target has_side_effect?:bool=false"
        " backend_config?:config api_version?:api_version=1 called_computations?:symbols=[]"
        " operand_layouts?:layouts result_layouts?:layouts output_operand_aliases?:aliases=[]"
        " result_tilings?:tilings> -> results*:custom",
        form=typed(" $call_target_name($inputs)"),
        verify=(follows_name(host.check_custom_call),),
    ),
    OpRow(
        "pure get_tuple_element(operand:tuple) <index:index32> -> result:anything",
        form=typed(" $operand[$index]"),
        infer=rules.infer_tuple_element,
    ),
    OpRow(
        "recursive conditional_flow if(pred:pred) [true_branch false_branch] -> results*:value",
        infer=rules.infer_branches,
    ),
    OpRow(
        "pure operand_flow optimization_barrier(operand*:tensor_or_token) -> result*:tensor_or_token",
        form=forms.BARRIER_FORM,
        verify=(PAIRWISE,),
    ),
    OpRow("pure terminator return(results*:value_or_buffer)", form=forms.RETURN_FORM),
    OpRow(
        "reads_constants rng(a:scalar_pred_int_float b:scalar_pred_int_float shape:shape)"
        " <rng_distribution:rng_distribution> -> result:pred_int_float",
        form=typed(" $a, $b, $shape, distribution = $rng_distribution"),
        verify=(match("element type", "a", "b", "result"),),
        infer=dynamic.infer_rng,
    ),
    OpRow(
        "no_effect rng_bit_generator(initial_state:int_float) <rng_algorithm:rng_algorithm>"
        " -> output_state:int_float output:static_int_float",
        form=typed(" $initial_state, algorithm = $rng_algorithm"),
        verify=(host.check_rng_bit_generator,),
    ),
    OpRow(
        "pure tuple(val*:anything) -> result:tuple", form=Template(" $val", TUPLE), infer=rules.infer_tuple
    ),
    OpRow(
        "recursive loop_flow while(operand*:value_or_buffer) [cond body] -> results*:value_or_buffer",
        form=forms.WHILE_FORM,
        verify=(rules.check_while,),
        infer=rules.infer_operand_types,
        argument_names=forms.while_names,
    ),
)
"""The rows."""
