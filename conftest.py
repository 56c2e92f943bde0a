"""What is left out where an optional package is not installed."""

from importlib.util import find_spec

# Doctests import each module; this one is imported by Model Explorer alone.
collect_ignore = [] if find_spec("model_explorer") else ["shardy_py/model_explorer/main.py"]
