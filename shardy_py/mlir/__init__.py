"""MLIR programs: text to IR and back (`text/`), the dialects (`dialects/`), reading and changing the IR.

    text/ -> dialects/ -> ir/ -> record.py, plain.py, symbols.py, calls.py, data_flow.py, ...

`ir/` is the only user of xDSL's private fields; the modules beside it read programs: op records, symbols,
calls, data-flow edges, the holders and places of shardings, known scalars and trip counts. Not
here: the op graph that propagation works on (`propagation/graph/`), passes (`passes/`, `localize/`, `xla/`).
"""
