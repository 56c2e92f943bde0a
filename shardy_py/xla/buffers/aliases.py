"""Values that are others under another name.

>>> aliases = Aliases({"barrier": "reshape", "reshape": "x"})
>>> aliases.root("barrier"), aliases.root("x")
('x', 'x')
>>> aliases["x"] = "argument"
>>> aliases.root("barrier")
'argument'
"""

from __future__ import annotations

from shardy_py.xla.spmd.program import Name


class Aliases(dict[Name, Name]):
    """By name the value that it is an alias of; no entry is changed or removed.

    Chains may be as long as a program: what was passed once leads to the end of its chain at once.
    """

    def __init__(self, *given: dict[Name, Name]) -> None:
        super().__init__(*given)
        self._further: dict[Name, Name] = {}

    def root(self, name: Name) -> Name:
        """Returns the value at the end of the chain of a name: itself if it is not an alias."""
        if name not in self:
            return name
        further, passed = self._further, list[Name]()
        while name in self:
            passed.append(name)
            name = further[name] if name in further else self[name]
        if len(passed) > 1:
            further.update(dict.fromkeys(passed, name))
        return name
