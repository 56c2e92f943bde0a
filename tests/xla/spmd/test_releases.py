"""What XLA's partitioner sends for one program in each release: figures of jaxlib 0.10.2, 0.11.2, 0.12.0.1.

The installed jaxlib is asked for those of its own release.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from shardy_py import Program, propagate
from shardy_py.base import releases
from shardy_py.base.behaviours import Behaviour
from shardy_py.base.releases import Release
from shardy_py.xla.spmd.model import CollectivePlan
from tests.xla.spmd.compiled import STOP, Hlo, partitioned

MESHES = {"grid": '<["x"=4, "y"=2]>', "cube": '<["x"=2, "y"=2, "z"=2]>'}


@dataclass(frozen=True)
class Sent:
    """A program of one result, and the bytes that it sends by kind before and since a behaviour.

    arguments: types and shardings. result: the same, of what the last op of the body makes.
    """

    mesh: str
    arguments: tuple[tuple[str, str], ...]
    body: str
    result: tuple[str, str]
    before: dict[str, int]
    since: dict[str, int]
    behaviour: Behaviour = Behaviour.SHARDINGS_HAVE_AXES

    def by(self, release: Release) -> dict[str, int]:
        """The bytes in a release."""
        with releases.of(release):
            return self.since if self.behaviour.holds else self.before

    @property
    def text(self) -> str:
        """The program, with the call that stops XLA before code generation."""
        held = [f"tensor<{type_}> {{{_sharding(axes)}}}" for type_, axes in self.arguments]
        arguments = ", ".join(f"%{i}: {type_}" for i, type_ in enumerate(held))
        type_, axes = self.result
        results = f"tensor<{type_}> {{{_sharding(axes)}}}, tensor<f32>"
        return f"""sdy.mesh @mesh = {MESHES[self.mesh]}
func.func @main({arguments}) -> ({results}) {{
  %result = {self.body}
  %stop = stablehlo.custom_call @{STOP}() : () -> tensor<f32>
  return %result, %stop : tensor<{type_}>, tensor<f32>
}}
"""


def _sharding(axes: str) -> str:
    return f"sdy.sharding = #sdy.sharding<@mesh, {axes}>"


def rows(table: str, indices: str, result: str) -> str:
    """A gather of rows."""
    return f""""stablehlo.gather"(%0, %1) {{dimension_numbers = #stablehlo.gather<offset_dims = [2],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>,
      slice_sizes = array<i64: 1, 64>}} : (tensor<{table}>, tensor<{indices}>) -> tensor<{result}>"""


def slices_added(value: str, indices: str, updates: str) -> str:
    """A scatter that adds slices of a vector at places of it."""
    return f""""stablehlo.scatter"(%0, %1, %2) ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %sum = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0],
  scatter_dims_to_operand_dims = [0],
      index_vector_dim = 1>}} : (tensor<{value}>, tensor<{indices}>, tensor<{updates}>) -> tensor<{value}>"""


def rows_added(table: str, indices: str, updates: str) -> str:
    """A scatter that adds rows."""
    return f""""stablehlo.scatter"(%0, %1, %2) ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %sum = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}}
      : (tensor<{table}>, tensor<{indices}>, tensor<{updates}>) -> tensor<{table}>"""


TABLE, INDICES, ROWS = "1024x64xf32", "8x16x1xi32", "8x16x64xf32"
PROGRAMS = {
    "an FFT of sharded batches": Sent(
        "grid",
        (("8x16xcomplex<f32>", '[{"x"}, {}]'),),
        "stablehlo.fft %0, type = FFT, length = [16] "
        ": (tensor<8x16xcomplex<f32>>) -> tensor<8x16xcomplex<f32>>",
        ("8x16xcomplex<f32>", '[{"x"}, {}]'),
        {"all_gather": 768},
        {},
        Behaviour.FFT_KEEPS_BATCHES,
    ),
    "an FFT of a sharded dimension": Sent(
        "grid",
        (("8x16xf32", '[{"y"}, {"x"}]'),),
        "stablehlo.fft %0, type = RFFT, length = [16] : (tensor<8x16xf32>) -> tensor<8x9xcomplex<f32>>",
        ("8x9xcomplex<f32>", '[{"y"}, {}]'),
        {"all_gather": 448},
        {"all_gather": 192},
        Behaviour.FFT_KEEPS_BATCHES,
    ),
    "rows of a table by columns, in batches": Sent(
        "cube",
        ((TABLE, '[{}, {"y"}]'), (INDICES, '[{"x", "y"}, {}, {}]')),
        rows(TABLE, INDICES, ROWS),
        (ROWS, '[{"x", "y"}, {}, {}]'),
        {"collective_permute": 128, "all_gather": 28672},
        {"collective_permute": 128, "all_gather": 4096, "all_to_all": 4096},
    ),
    "gradients of rows in batches, of a table by columns": Sent(
        "grid",
        ((TABLE, '[{}, {"x"}]'), (INDICES, '[{"x"}, {}, {}]'), (ROWS, '[{"x"}, {}, {}]')),
        rows_added(TABLE, INDICES, ROWS),
        (TABLE, '[{}, {"x"}]'),
        {"collective_permute": 128, "all_gather": 128, "all_to_all": 6144, "all_reduce": 65536},
        {"collective_permute": 128, "all_gather": 24704, "all_reduce": 65536},
    ),
    "slices added where their axes are those of the sum": Sent(
        "grid",
        (("8xf32", '[{"x", "y"}]'), ("16xi32", '[{"y", "x"}]'), ("4x16xf32", '[{}, {"x", "y"}]')),
        slices_added("8xf32", "16xi32", "4x16xf32"),
        ("8xf32", '[{"x"}]'),
        {"all_gather": 32, "collective_permute": 32, "all_reduce": 56},
        {"all_gather": 256, "all_reduce": 56},
        Behaviour.SCATTER_GATHERS_CONFLICTS,
    ),
    "a pad that moves tiles": Sent(
        "grid",
        (("32x32xf32", '[{"x"}, {}]'), ("f32", "[]")),
        "stablehlo.pad %0, %1, low = [0, 1], high = [0, -1], interior = [0, 0] "
        ": (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32>",
        ("32x32xf32", '[{}, {"x"}]'),
        {"all_to_all": 768, "collective_permute": 128},
        {"all_gather": 3072, "collective_permute": 128},
    ),
}


def sent(program: Sent) -> dict[str, int]:
    """The bytes by kind that we plan."""
    report = propagate(Program.parse(program.text, as_compiled=True)).communication(partitioner="xla")
    return {total.key: total.cost.bytes for total in report.by_kind if total.cost.bytes}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("release", releases.RELEASES, ids=str)
def test_each_release_sends_what_its_xla_sent(release: Release, name: str) -> None:
    with releases.of(release):
        assert sent(PROGRAMS[name]) == PROGRAMS[name].by(release)


def test_the_figures_are_those_of_the_installed_xla(release_of_jaxlib: Release) -> None:
    found = partitioned([program.text for program in PROGRAMS.values()])
    theirs = [CollectivePlan(tuple(Hlo(each.after).collectives())).bytes_by_kind for each in found]
    ours = {name: program.by(release_of_jaxlib) for name, program in PROGRAMS.items()}
    assert dict(zip(PROGRAMS, theirs, strict=True)) == ours
