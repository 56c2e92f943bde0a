"""numpy, imported when it is first used: a tenth of a second that commands on small programs do not wait for.

>>> from shardy_py.base.deferred import np
>>> np.arange(3).tolist()
[0, 1, 2]

The loader of the standard library (`importlib.util.LazyLoader`) would put the unloaded module into
`sys.modules`, for other packages too. For modules that commands import before they know whether they compute;
others import numpy itself.
Not here: modules of this package that are imported on use (`base/extensions.py`).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from typing_extensions import override


class DeferredModule(ModuleType):
    """Stands for a module, which is imported when an attribute is first looked up.

    From then on it has the attributes of the module itself, so that a look-up costs what it costs there.
    """

    @override
    def __getattr__(self, name: str) -> object:
        module = import_module(self.__name__)
        self.__dict__.update({key: value for key, value in vars(module).items() if key not in self.__dict__})
        return getattr(module, name)


if TYPE_CHECKING:
    import numpy as np
else:
    np = DeferredModule("numpy")

MOST_DIMENSIONS = 48
"""The most of a tensor that is computed on or tiled: numpy has 64, and lanes and parts need some."""

__all__ = ["MOST_DIMENSIONS", "DeferredModule", "np"]
