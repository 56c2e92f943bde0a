"""Shardy-style tensor sharding in Python.

Start at ``shardy_py.pipeline``: one typed function per stage, in order. ``shardy_py.cli`` is the
``sdy-opt`` command over it.
"""

__version__ = "0.1.0"
