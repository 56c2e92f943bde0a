"""`python -m shardy_py`: the same as `sdy-opt`."""

import sys

from shardy_py.commands import sdy_opt

sys.exit(sdy_opt())
