"""The dialects of this package, joined for reading and printing.

Not here: what a dialect is made of (its own folder); how text is read (`mlir/text/`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Dialect, Operation

from shardy_py.base.errors import ShardyError
from shardy_py.base.session import SESSION
from shardy_py.mlir.text import SyntaxTable, read_module, syntax_table
from shardy_py.mlir.text import print_module as _print
from shardy_py.mlir.text.attribute_writer import use_syntax
from shardy_py.mlir.text.builtin_forms import BUILTIN, FUNC
from shardy_py.mlir.text.syntax import provide_table
from shardy_py.ops import OpSpec, register


def _joined() -> SyntaxTable:
    """The syntax of all dialects; they are imported when text is first read or printed."""
    from shardy_py.mlir.dialects.check import CHECK
    from shardy_py.mlir.dialects.chlo import CHLO
    from shardy_py.mlir.dialects.interpreter import INTERPRETER
    from shardy_py.mlir.dialects.mhlo import MHLO
    from shardy_py.mlir.dialects.sdy import SDY
    from shardy_py.mlir.dialects.stablehlo import QUANT, STABLEHLO

    dialects = [BUILTIN, FUNC, SDY, STABLEHLO, CHLO, QUANT, CHECK, INTERPRETER]
    by_text: dict[str, Attribute] = SESSION.table("attributes by text")
    by_name, foreign = {d.name: d for d in dialects}, {MHLO.name: MHLO}
    table = SyntaxTable(by_name, xdsl_context, _verify, by_text, foreign=foreign)
    use_syntax(table)
    return table


provide_table(_joined)


def _verify(op: Operation) -> None:
    from shardy_py.mlir.dialects.verification import verify_op

    verify_op(op)


def _sdy() -> Dialect:
    from shardy_py.mlir.dialects.sdy import Sdy

    return Sdy


def _quant() -> Dialect:
    from shardy_py.mlir.text.dialect_symbols import unregistered_class

    names = ("quant.any", "quant.calibrated", "quant.uniform")
    return Dialect("quant", [], [unregistered_class(name, True) for name in names])


DIALECTS: dict[str, Callable[[], Dialect]] = {
    "sdy": _sdy,
    "stablehlo": lambda: import_module("shardy_py.mlir.dialects.stablehlo").xdsl_dialect(),
    "chlo": lambda: import_module("shardy_py.mlir.dialects.chlo").xdsl_dialect(),
    "quant": _quant,
    "check": lambda: import_module("shardy_py.mlir.dialects.check").xdsl_dialect(),
    "interpreter": lambda: import_module("shardy_py.mlir.dialects.interpreter").xdsl_dialect(),
}
"""The dialects of this package as xDSL knows them, by name; imported when first used."""

RUNTIME_DIALECTS = ("check", "interpreter")
"""The dialects of StableHLO's interpreter, which Shardy's `sdy_opt` does not register."""


@cache
def xdsl_context() -> Context:
    """The xDSL context of the process: the dialects of xDSL and of this package, and registered ones."""
    from xdsl.dialects import get_all_dialects

    context = Context(allow_unregistered=True)
    for name, factory in {**get_all_dialects(), **DIALECTS}.items():
        context.register_dialect(name, factory)
    return context


_REGISTERED: list[str] = []
"""The names of registered dialects."""


def known_dialects() -> list[str]:
    """The names of the dialects that programs may use besides xDSL's own, sorted."""
    return sorted((*syntax_table().dialects, *_REGISTERED))


def register_dialect(dialect: Dialect) -> None:
    """Lets programs contain the ops of `dialect`, in generic form or in the custom form of its classes.

    Shardings propagate through classes with one of the interfaces of `sdy/interfaces.py` among their traits;
    `shardy_py.ops.register` describes other ops. Raises `ShardyError` if there is a dialect of that name.
    """
    from shardy_py.mlir.dialects.sdy.interfaces import ShardingRuleOpInterface
    from shardy_py.mlir.dialects.verification.rules import register_checks

    context = xdsl_context()
    if dialect.name in {*syntax_table().dialects, *context.registered_dialect_names}:
        raise ShardyError(
            f"there is a dialect '{dialect.name}' already: register each once, under its own name"
        )
    context.load_dialect(dialect)
    _REGISTERED.append(dialect.name)
    syntax_table().forget_unknown_ops()
    register_checks(op_class.name for op_class in dialect.operations)
    for op_class in dialect.operations:
        trait = op_class.get_trait(ShardingRuleOpInterface)
        if trait is not None:
            divisible = trait.should_keep_output_shardings_divisible
            register(OpSpec(op_class.name, rule=trait.sharding_rule, keeps_divisible=divisible))


def parse_module(
    text: str,
    file: str = "-",
    *,
    allow_unregistered: bool = False,
    first_line: int = 1,
    verified: bool = False,
) -> ModuleOp:
    """The module that `text` spells. Raises `ShardyError` with the place of the first mistake.

    allow_unregistered: keeps ops of unregistered dialects, in generic form, `RUNTIME_DIALECTS` among these.
    verified: also raises the faults that `verify_module` finds.
    """
    syntax = syntax_table().without(RUNTIME_DIALECTS) if allow_unregistered else syntax_table()
    module, repeats = read_module(
        text, file, syntax=syntax, allow_unregistered=allow_unregistered, first_line=first_line
    )
    if verified:
        from shardy_py.mlir.dialects.verification import verify_module

        verify_module(module, repeats)
    return module


def print_module(module: Operation, *, generic: bool = False, debuginfo: bool = False) -> str:
    """The text of a module as MLIR prints it, with a newline at its end."""
    return _print(module, syntax=syntax_table(), generic=generic, debuginfo=debuginfo)
