"""`python -m shardy_py.layout`: the command of `cli/layout.py`, found by name: layouts know no commands."""

import sys
from importlib import import_module

sys.exit(import_module("shardy_py.cli.layout").main())
