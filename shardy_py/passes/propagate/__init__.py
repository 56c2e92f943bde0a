"""The passes that propagate: from a module to its flat program, through propagation, and back.

Not here: propagation itself (`propagation/`).
"""
