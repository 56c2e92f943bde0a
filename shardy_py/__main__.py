"""`python -m shardy_py`: the same as `sdy-opt`."""

import sys

from shardy_py.cli.commands import sdy_opt

sys.exit(sdy_opt())
