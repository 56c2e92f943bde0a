"""Control flow, tuples and tokens, calls, random numbers."""

from __future__ import annotations

from shardy_py.dialects.definition import OpRow
from shardy_py.dialects.stablehlo.forms import (
    BARRIER_FORM,
    COMPOSITE_FORM,
    RETURN_FORM,
    WHILE_FORM,
    while_names,
)
from shardy_py.dialects.stablehlo.verify import control as rules
from shardy_py.dialects.stablehlo.verify import dynamic, host
from shardy_py.dialects.stablehlo.verify.traits import PAIRWISE, follows_name, match_elements
from shardy_py.dialects.template import Template, typed
from shardy_py.dialects.type_tails import RESULT, SAME, TUPLE

CONTROL = (
    OpRow(
        "after_all", "inputs*:token", results="result:token", form=Template(" $inputs", SAME), traits="pure"
    ),
    OpRow(
        "case",
        "index:i32",
        results="results*:value",
        regions="branches*",
        traits="recursive branch_flow",
        infer=rules.infer_branches,
    ),
    OpRow(
        "composite",
        "inputs*:value_or_tuple",
        "name:string composite_attributes?:dictionary={} decomposition:symbol version?:i32=0",
        "results*:value_or_tuple",
        "composite_regions*",
        form=COMPOSITE_FORM,
        verify_symbols=host.check_composite,
    ),
    OpRow("create_token", results="output:token", form=Template("", RESULT), traits="pure"),
    OpRow(
        "custom_call",
        "inputs*:custom",
        "call_target_name:target has_side_effect?:bool=false backend_config?:config"
        " api_version?:api_version=1 called_computations?:symbols=[] operand_layouts?:layouts"
        " result_layouts?:layouts output_operand_aliases?:aliases=[] result_tilings?:tilings",
        "results*:custom",
        form=typed(" $call_target_name($inputs)"),
        traits="flagged",
        verify=(follows_name(host.check_custom_call),),
    ),
    OpRow(
        "get_tuple_element",
        "operand:tuple",
        "index:index32",
        "result:anything",
        form=typed(" $operand[$index]"),
        traits="pure",
        infer=rules.infer_tuple_element,
    ),
    OpRow(
        "if",
        "pred:pred",
        results="results*:value",
        regions="true_branch false_branch",
        traits="recursive",
        infer=rules.infer_branches,
    ),
    OpRow(
        "optimization_barrier",
        "operand*:tensor_or_token",
        results="result*:tensor_or_token",
        form=BARRIER_FORM,
        traits="pure operand_flow",
        verify=(PAIRWISE,),
    ),
    OpRow("return", "results*:value_or_buffer", results="", form=RETURN_FORM, traits="pure terminator"),
    OpRow(
        "rng",
        "a:scalar_pred_int_float b:scalar_pred_int_float shape:shape",
        "rng_distribution:rng_distribution",
        "result:pred_int_float",
        form=typed(" $a, $b, $shape, distribution = $rng_distribution"),
        verify=(match_elements("a", "b", "result"),),
        infer=dynamic.infer_rng,
        needs_constants=True,
    ),
    OpRow(
        "rng_bit_generator",
        "initial_state:int_float",
        "rng_algorithm:rng_algorithm",
        "output_state:int_float output:static_int_float",
        form=typed(" $initial_state, algorithm = $rng_algorithm"),
        traits="no_effect",
        verify=(host.check_rng_bit_generator,),
    ),
    OpRow(
        "tuple",
        "val*:anything",
        results="result:tuple",
        form=Template(" $val", TUPLE),
        traits="pure",
        infer=rules.infer_tuple,
    ),
    OpRow(
        "while",
        "operand*:value_or_buffer",
        results="results*:value_or_buffer",
        regions="cond body",
        form=WHILE_FORM,
        traits="recursive loop_flow",
        verify=(rules.check_while,),
        infer=rules.infer_operand_types,
        argument_names=while_names,
    ),
)
"""The rows."""
