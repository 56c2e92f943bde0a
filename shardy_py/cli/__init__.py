"""The commands: a module each (`opt.py` is `sdy-opt`), and what they share (`shell.py`, `arguments.py`).

Imports nothing, so that each command loads only what it uses.
"""
