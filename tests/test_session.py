"""The session's tables are bounded, emptying them changes no result, and no other table grows."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

import shardy_py
from shardy_py.errors import ShardyError
from shardy_py.pipeline import decide_shardings
from shardy_py.session import SESSION, Session
from tests.differential.meshes import Width
from tests.differential.programs import wide_program

PACKAGE = Path(shardy_py.__file__).parent

PROCESS_WIDE = {
    "check/rules.py:_ROWS": "one row a rule, added at import",
    "dialects/verification/rules.py:_REGISTERED": "ops of registered dialects",
    "frontends/aten/__init__.py:_REGISTERED": "rows that users registered",
    "passes/auto_partition.py:_registered": "the one auto-partitioner",
    "text/attribute_writer.py:_mentioned": "a stack, empty between calls",
    "text/syntax.py:_names": "one entry an op class",
    "text/syntax.py:_providers": "one entry a package that provides dialects",
}
"""Tables outside of a session, with what bounds them."""


def outcome(text: str) -> str:
    """What the pipeline prints, or why it refuses the program."""
    try:
        return decide_shardings(text)
    except ShardyError as error:
        return str(error)


@pytest.fixture
def small_session():
    limit = SESSION.limit
    SESSION.limit = 500
    yield SESSION
    SESSION.limit = limit


def test_tables_are_emptied_between_programs_and_results_stay(small_session: Session) -> None:
    texts = [wide_program(random.Random(seed), Width()) for seed in range(12)]
    small_session.limit = 1 << 30
    expected = [outcome(text) for text in texts]
    largest = max(sum(small_session.sizes.values()), 501)
    small_session.limit = 500
    assert [outcome(text) for text in texts] == expected
    assert sum(small_session.sizes.values()) < largest


def test_nothing_is_emptied_while_a_program_is_worked_on() -> None:
    session = Session(limit=1)
    table = session.table("numbers")
    with session.program():
        table.update(a=1, b=2)
        with session.program():
            assert len(table) == 2
        session.clear()
        assert len(table) == 2
    with session.program():
        assert not table


def test_clear_empties_all_tables() -> None:
    session = Session()
    session.table("a")["x"] = 1
    session.clear()
    assert session.sizes == {"a": 0}


def _growing_tables(path: Path) -> list[str]:
    """Empty containers and unbounded caches with arguments at the top level of a module."""
    found: list[str] = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            value = node.value
            is_empty = (isinstance(value, ast.Dict) and not value.keys) or (
                isinstance(value, ast.List) and not value.elts
            )
            is_empty |= isinstance(value, ast.Call) and ast.unparse(value) in ("set()", "dict()", "list()")
            if is_empty and isinstance(target, ast.Name):
                found.append(target.id)
        has_arguments = isinstance(node, ast.FunctionDef) and bool(node.args.args)
        if has_arguments and "cache" in map(ast.unparse, node.decorator_list):
            found.append(f"{node.name}()")
    return found


def test_no_other_table_of_the_process_grows() -> None:
    found = {
        f"{path.relative_to(PACKAGE).as_posix()}:{name}"
        for path in PACKAGE.rglob("*.py")
        for name in _growing_tables(path)
    }
    assert sorted(found) == sorted(PROCESS_WIDE)
