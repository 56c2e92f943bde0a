"""Text <-> IR: the dialects, and reading and printing with all of them."""

from shardy_py.mlir.dialects.registry import (
    known_dialects,
    parse_module,
    print_module,
    register_dialect,
    syntax_table,
)

__all__ = ["known_dialects", "parse_module", "print_module", "register_dialect", "syntax_table"]
