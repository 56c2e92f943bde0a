"""The compilers of devices themselves: a program compiled ahead of time, where one is installed.

    compile_ahead(text, placement, mesh, python="/opt/gpu/bin/python").memory

`ahead_of_time.py` runs in the interpreter that has JAX and the compiler, which may be another one;
`interpreter.py` runs it. Not here: forecasts of what compilers do (`xla/targets/`), the report that has both
(`report/compiled/`).
"""

from shardy_py.xla.compilers.interpreter import VARIABLE, CompilerAnswer, OutOfMemoryError, compile_ahead

__all__ = [
    "VARIABLE",
    "CompilerAnswer",
    "OutOfMemoryError",
    "compile_ahead",
]
