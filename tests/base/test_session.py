"""The session's tables are bounded, emptying them changes no result, and no other table grows."""

from __future__ import annotations

import ast
import gc
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import BytesAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

import shardy_py
from shardy_py import P, Program, propagate
from shardy_py.api.pipeline import decide_shardings
from shardy_py.base.errors import ShardyError
from shardy_py.base.session import PER_READ, SESSION, Identities, Session
from shardy_py.indexing import IndexMap
from shardy_py.mlir.numbering import number_of
from shardy_py.mlir.text import syntax
from shardy_py.mlir.text.syntax import syntax_table
from shardy_py.ops import OpRecord
from shardy_py.sharding import Mesh, ShardingRule, TensorSharding
from tests.differential.meshes import Width
from tests.differential.programs import wide_program

PACKAGE = Path(shardy_py.__file__).parent

PROCESS_WIDE = {
    "base/extensions.py:_MODULES": "one entry an extension of the package",
    "base/plugins.py:_called": "one entry a function of a plugin",
    "base/plugins.py:_loaded": "one entry a plugin",
    "base/plugins.py:_names": "names of plugins, for other processes",
    "base/plugins.py:_owners": "one entry a name that a plugin registers",
    "mlir/dialects/registry.py:_REGISTERED": "registered dialects",
    "mlir/text/xdsl_hooks.py:_CLASSES": "one entry a class of attributes",
    "check/rule.py:_ROWS": "one row a rule, added at import",
    "mlir/dialects/verification/rules.py:_REGISTERED": "ops of registered dialects",
    "frontends/aten/__init__.py:_REGISTERED": "rows that users registered",
    "passes/propagate/auto_partition.py:_registered": "the one auto-partitioner",
    "mlir/text/attribute_writer.py:_mentioned": "a stack, empty between calls",
    "mlir/text/syntax.py:_names": "one entry an op class",
    "mlir/text/syntax.py:_providers": "one entry a package that provides dialects",
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


def test_reports_on_a_program_may_need_more_entries_than_the_limit() -> None:
    session = Session(limit=10)
    table = session.table("constants")
    with session.program(is_read=True):
        table.update((n, n) for n in range(20))
    for n in range(1, 5):  # reports: none fills the table again for the next
        with session.program():
            assert len(table) == 100 * n - 80
            table.update((100 * n + m, m) for m in range(100))
    with session.program(is_read=True):
        assert not table


def test_work_without_reading_empties_the_tables_too() -> None:
    session = Session(limit=10)
    table, largest = session.table("constants"), 0
    with session.program(is_read=True):
        table["first"] = 0
    for n in range(200):
        with session.program():
            table[n] = n
            largest = max(largest, len(table))
    assert largest <= 10 + PER_READ + 1


def test_clear_empties_all_tables() -> None:
    session = Session()
    session.table("a")["x"] = 1
    session.clear()
    assert session.sizes == {"a": 0}


def test_texts_of_attributes_are_among_them() -> None:
    """Programs whose axes have other names each time have other attributes."""
    for number in range(3):
        mesh, sharding = f'sdy.mesh @mesh = <["x{number}"=2]>', f'#sdy.sharding<@mesh, [{{"x{number}"}}]>'
        Program.parse(
            f"{mesh}\nfunc.func @main(%a: tensor<8xf32> {{sdy.sharding = {sharding}}}) {{ return }}"
        )
        assert sharding in syntax_table().by_text
    SESSION.clear()
    assert syntax_table().by_text == {}


def test_names_of_unknown_ops_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "_MOST_NAMES", 50)
    table = syntax_table().without(())
    assert [table.op(f"unknown.op{number}") for number in range(200)] == [None] * 200
    assert len(table._ops) <= 50  # pyright: ignore[reportPrivateUsage]


def test_equal_attributes_have_one_number_before_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    old = StringAttr("a")
    before = number_of(old)
    monkeypatch.setattr(SESSION, "limit", 0)
    with SESSION.program():
        assert number_of(StringAttr("a")) == number_of(old) != before


def test_an_entry_of_identities_dies_with_its_object() -> None:
    table: Identities[int] = Session().identities("lengths")
    first, second = StringAttr("a"), StringAttr("a")
    assert table.remember(first, 1) == 1
    assert table.remember(second, 2) == 2
    assert [table[id(thing)][0] for thing in (first, second)] == [1, 2]
    del first
    gc.collect()
    assert [value for value, _ in table.values()] == [2]


def test_caches_are_emptied_with_the_tables() -> None:
    session, computed = Session(limit=0), list[int]()

    @session.cache(8)
    def square(n: int) -> int:
        computed.append(n)
        return n * n

    table = session.table("numbers")
    assert (square(3), square(3), computed) == (9, 9, [3])
    with session.program():
        assert (square(3), computed) == (9, [3])
    table["x"] = 1
    with session.program():
        assert (square(3), computed) == (9, [3, 3])


def test_large_entries_count_as_several() -> None:
    session = Session(limit=10)
    session.table("signatures")["long"] = None
    with session.program():
        session.charge(200)
    with session.program():
        assert session.sizes == {"signatures": 0}


PROGRAM = """
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, a.note = [1, 2]})
    -> tensor<16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %1 = stablehlo.constant dense<0.5> : tensor<f32>
  %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0]
      : (tensor<32x16xf32>, tensor<f32>) -> tensor<16xf32>
  return %2 : tensor<16xf32>
}
"""


def _propagate_text() -> Callable[[], object]:
    return lambda: decide_shardings(PROGRAM)


def _propagate_program() -> Callable[[], object]:
    program = Program.parse(PROGRAM)
    return lambda: propagate(program)


def _report() -> Callable[[], object]:
    program = Program.parse(PROGRAM)

    def report() -> None:
        result = propagate(program)
        for text in (result.communication(), result.memory("tpu"), result.summary(), result.text()):
            str(text)
        str(result.explain("%0"))
        str(result.why_not("%0", 1, "data"))

    return report


def _all_reports() -> Callable[[], object]:
    program = Program.parse(PROGRAM, as_compiled=True)

    def report() -> None:
        result = propagate(program, progress=False)
        for target in ("linear", "tpu-v5p", "h100"):
            str(result.memory(target))
        for device in ("tpu-v5p", "h100"):
            str(result.time(device, target=device))
            str(result.communication(target=device))
        str(result.communication(partitioner="shardy"))
        str(result.check())
        str(result.partition())
        result.explorer()

    return report


def _compare() -> Callable[[], object]:
    result = propagate(Program.parse(PROGRAM))
    return lambda: str(result.what_if({"%arg1": P("model")}))


def _refuse() -> Callable[[], object]:
    return lambda: outcome(PROGRAM.replace("return %2", "return %3"))


@pytest.mark.parametrize(
    "work",
    [
        *(_propagate_text, _propagate_program, _report, _compare, _refuse),
        pytest.param(_all_reports, marks=pytest.mark.slow),
    ],
)
def test_equal_work_adds_no_entries(work: Callable[[], Callable[[], object]]) -> None:
    SESSION.clear()
    repeated = work()

    def sizes_after(runs: int) -> dict[str, int]:
        for _ in range(runs):
            repeated()
        gc.collect()
        return SESSION.sizes

    assert sizes_after(3) == sizes_after(3)


def _values_held() -> Counter[str]:
    """The values that the process holds when its tables are empty, by type."""
    SESSION.clear()
    gc.collect()
    kinds = (Attribute, TensorSharding, Mesh, OpRecord, IndexMap, ShardingRule)
    held = (type(each) for each in gc.get_objects() if issubclass(type(each), kinds))
    return Counter(kind.__qualname__ for kind in held)


def test_emptied_tables_leave_nothing_of_the_programs_before() -> None:
    def serve(numbers: range) -> None:
        for number in numbers:
            text = (
                PROGRAM.replace("32x", f"{8 * number}x")
                .replace('"data"', f'"data{number}"')
                .replace("[1, 2]", f"[{number}]")
            )
            result = propagate(Program.parse(text), progress=False)
            for target in ("tpu-v5p", "h100"):
                str(result.memory(target)), str(result.time(target)), str(result.communication(target=target))
            str(result.check()), str(result.partition()), result.explorer()

    serve(range(100, 102))
    before = _values_held()
    serve(range(102, 108))
    assert _values_held() - before == {}


def _modules() -> int:
    gc.collect()
    return sum(type(each) is ModuleOp for each in gc.get_objects())


def test_nothing_keeps_a_program_whose_reports_were_made() -> None:
    before = _modules()
    _all_reports()()
    assert _modules() == before


def test_data_of_programs_is_not_kept() -> None:
    SESSION.clear()
    for digit in range(20):
        data = f"{digit:02}" * 100_000
        decide_shardings(
            "func.func @main(%a: tensor<25000xf32>) -> tensor<25000xf32> {\n"
            f'  %0 = stablehlo.constant dense<"0x{data}"> : tensor<25000xf32>\n'
            f'  %1 = stablehlo.add %a, %0 {{note = "{data}"}} : tensor<25000xf32>\n'
            "  return %1 : tensor<25000xf32>\n}\n"
        )
    gc.collect()
    held = [a for a in gc.get_objects() if issubclass(type(a), StringAttr | BytesAttr | OpRecord)]
    assert sum(len(a.data) > 1000 for a in held if isinstance(a, StringAttr | BytesAttr)) <= 2
    assert sum(len(str(a.attributes)) > 1000 for a in held if isinstance(a, OpRecord)) <= 6


CANDIDATE = re.compile(r"^\w.*=\s*(\{|\[|(set|dict|list)\()(\s|#.*)*[\]})]|^@cache$", re.MULTILINE)
"""In the text of each module that has a table; to parse them all takes seconds."""


def _growing_tables(path: Path) -> list[str]:
    """Empty containers and unbounded caches with arguments at the top level of a module."""
    found: list[str] = []
    text = path.read_text()
    for node in ast.parse(text).body if CANDIDATE.search(text) else ():
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
