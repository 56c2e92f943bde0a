"""The examples of the pages on HLO and on the uses of indexing maps run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("page", ["indexing_uses.md", "hlo.md"])
def test_examples_run(page: str, root: Path) -> None:
    text = (root / "docs" / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        example = doctest.DocTestParser().get_doctest(block, names, f"{page} {number}", page, 0)
        result = doctest.DocTestRunner().run(example, clear_globs=False)
        names.update(example.globs)
        assert not result.failed, f"{page}, block {number}"
