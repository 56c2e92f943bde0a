from __future__ import annotations

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.ir import owning_op, terminator_of, walk_post_order, walk_pre_order
from tests.mlir.programs import MANUAL, WHILE


def names(ops: object) -> list[str]:
    return [op.name.split(".")[-1] for op in ops]  # type: ignore[attr-defined]


def test_pre_order_goes_into_regions_at_once() -> None:
    module = parse_module(WHILE)
    words = "module mesh func while compare return tanh return data_flow_edge negate return"
    assert " ".join(names(walk_pre_order(module))) == words
    assert list(walk_pre_order(module, include_root=False)) == list(walk_pre_order(module))[1:]
    assert list(walk_pre_order(module)) == list(module.walk())


def test_post_order_is_that_of_xdsl() -> None:
    for text in (WHILE, MANUAL):
        module = parse_module(text)
        seen: list[object] = []

        def visit(op: object, seen: list[object] = seen) -> None:
            for region in op.regions:  # type: ignore[attr-defined]
                for block in region.blocks:
                    for inner in block.ops:
                        visit(inner)
            seen.append(op)

        visit(module)
        assert list(walk_post_order(module)) == seen
        assert list(walk_post_order(module, include_root=False)) == seen[:-1]


def test_the_op_given_may_be_erased() -> None:
    module = parse_module("func.func @f() { return }\nfunc.func @g() { return }")
    for op in walk_pre_order(module):
        if op.name == "func.func":
            op.detach()
    assert names(walk_pre_order(module)) == ["module"]


def test_owners_and_terminators() -> None:
    module = parse_module(WHILE)
    loop = next(op for op in walk_pre_order(module) if op.name == "stablehlo.while")
    assert owning_op(loop.results[0]) is loop
    assert owning_op(loop.regions[1].blocks[0].args[0]) is loop
    terminator = terminator_of(loop.regions[1])
    assert terminator is not None
    assert terminator.name == "stablehlo.return"
