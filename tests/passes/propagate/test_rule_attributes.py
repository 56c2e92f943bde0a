"""Attributes of derived rules: one for equal rules, so that equal programs add none."""

from __future__ import annotations

from dataclasses import replace

from shardy_py.ops import OpRecord, TensorType
from shardy_py.passes.propagate.rule_attributes import derived_rule_attribute, derived_rule_attributes
from shardy_py.propagation.rules import derive_rule


def test_equal_rules_have_one_attribute() -> None:
    rule = derive_rule(OpRecord("stablehlo.tanh", (TensorType((24, 7)),), (TensorType((24, 7)),)))
    assert rule is not None
    attribute = derived_rule_attribute(rule)
    assert derived_rule_attribute(replace(rule)) is attribute
    assert id(attribute) in derived_rule_attributes()
    assert attribute.data == rule
