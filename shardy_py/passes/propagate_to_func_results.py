"""`sdy-propagate-to-func-results`: copies shardings of returned values to results.

The main function is skipped: its result shardings are the user's.

    before  func.func private @f(%a {sdy.sharding = ...}) -> T { return %a }
    after   func.func private @f(%a {sdy.sharding = ...}) -> (T {sdy.sharding = ...}) { return %a }
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation

from shardy_py.graph.calls import is_defined_function
from shardy_py.graph.holders import Holder, Place, write_all
from shardy_py.graph.movements import note_moved
from shardy_py.graph.symbols import Symbols
from shardy_py.graph.value_shardings import remove_result_sharding, sharding_of


def propagate_to_func_results(module: ModuleOp) -> None:
    """Copies the shardings of returned values to function results."""
    main = Symbols(module).main()
    for function in module.body.block.ops:
        if function is not main and is_defined_function(function):
            copy_returned_shardings(function)


def copy_returned_shardings(function: Operation) -> None:
    """Gives each result the sharding of the value returned for it, or none."""
    terminator = function.regions[0].blocks[0].last_op
    if not isinstance(terminator, ReturnOp):
        return
    for index, value in enumerate(terminator.operands):
        sharding = sharding_of(value)
        result = Holder(Place.FUNCTION_RESULT, function, index)
        if sharding is None:
            remove_result_sharding(function, index)
        else:
            write_all([(result, sharding)])
        note_moved((result,), (value,), "sdy-propagate-to-func-results")
