"""`python -m shardy_py`: the same as `sdy-opt`."""

import sys

from shardy_py.cli import main

sys.exit(main())
