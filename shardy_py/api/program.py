"""Programs: reading, annotating, running. A program does not change: annotating returns another.

    program = Program.load("model.mlir")
    program = program.annotate({"%arg0": P("data", None), "result 0": P(UNCONSTRAINED)})

Not here: values by name (`verified_module.py`), propagation (`propagating.py`), programs without text
(`shardy_py.frontends.builder`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from typing_extensions import Unpack
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.api import remarks
from shardy_py.api.annotate import Editor, ShardingLike
from shardy_py.api.arguments import expect, program_remedy, shown
from shardy_py.api.foreign import MeshLike, as_mesh
from shardy_py.api.pass_calls import pass_calls
from shardy_py.api.reading import read_module, say, taken_module
from shardy_py.api.values import Value
from shardy_py.api.verified_module import ValueKey, VerifiedModule
from shardy_py.base import releases
from shardy_py.base.errors import Diagnostic, ShardyError, WholeFile, located
from shardy_py.base.extensions import extension
from shardy_py.base.inputs.files import ProgramSource, source_in
from shardy_py.base.releases import Release
from shardy_py.base.session import without_collection
from shardy_py.base.source_files import default_roots
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.trip_counts import TripCounts, set_trip_counts
from shardy_py.passes.runner import run_passes
from shardy_py.sharding import Mesh
from shardy_py.xla.prepare.taken import Taken

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from shardy_py.api.execution import Inputs, RunKeywords, RunResults
    from shardy_py.hardware import AxisPlacement, Hardware
    from shardy_py.propagation.op_graph import OpGraph
    from shardy_py.search.suggest import Suggestion

Edits = Mapping[str, ShardingLike] | Mapping[Value, ShardingLike] | Mapping[ValueKey, ShardingLike]
"""Annotations by value; None removes those of the program."""
_Edit = Callable[[Editor, Callable[[ValueKey], Value]], object]
"""A change to a copy; the function finds the copy of a value."""


@releases.following
class Program(VerifiedModule):
    """A module of StableHLO and sdy, verified: reading, annotating and running it."""

    @staticmethod
    def parse(
        text: str | bytes,
        file: str = "<program>",
        *,
        as_compiled: bool | None = None,
        imported: bool = True,
        trip_count: int | Mapping[str, int] | None = None,
        jax: str | None = None,
    ) -> Program:
        """Returns the program of a content, of any format of docs/inputs.md.

        A program of JAX is taken as JAX compiles it: changed as XLA does before propagation, as by
        `from_jax`. The logger `shardy_py` says so, once a program.

        file: the name of the text in diagnostics. as_compiled: whether it is taken so; None: by the rule.
        imported: whether shardings of GSPMD, of HLO and of the shard dialect are replaced by those of sdy,
            which the logger says, too; otherwise import them by `run`.
        trip_count: the iterations of loops whose number the program does not tell; by place: "model.py:12".
        jax: the release of JAX whose Shardy and XLA are followed: "0.10"; None: that which wrote the
            bytecode, else the newest.

        Raises:
            ShardyError: the program is invalid, or its shardings are, with the position of the first error.
        """
        return Program._parsed(text, file, as_compiled, imported, trip_count, jax)

    @staticmethod
    def _parsed(
        text: str | bytes | ProgramSource,
        file: str,
        as_compiled: bool | None,
        imported: bool,
        trip_count: int | Mapping[str, int] | None,
        jax: str | None,
    ) -> Program:
        expect(file, (str, PathLike), "the name of the text", what="file")
        counts, release = None if trip_count is None else TripCounts.of(trip_count), _release(jax)
        asked: Any = {"as_compiled": as_compiled, "imported": imported, "release": release}
        read = read_module(text, file, trip_counts=counts, **asked)
        remarks.say(text.remarks if isinstance(text, ProgramSource) else (), file, remarks.INFO)
        say(read, file)
        return Program(read.module, default_roots(file), read.taken)

    @staticmethod
    def load(
        path: str | PathLike[str],
        *,
        as_compiled: bool | None = None,
        imported: bool = True,
        trip_count: int | Mapping[str, int] | None = None,
        jax: str | None = None,
        input_format: str = "",
    ) -> Program:
        """Returns the program in a file, or in a folder that XLA or Shardy dumped, as `parse` does.

        input_format: the name of its format, as docs/inputs.md lists them; "": by content.

        Raises:
            ShardyError: the file cannot be read, or the program is invalid.
        """
        expect(path, (str, PathLike), "the path of a file", program_remedy)
        if "\n" in str(path):
            remedy = "Program.parse takes text"
            raise ShardyError.unexpected("", expected="the path of a file", got=shown(path), remedy=remedy)
        source = source_in(str(path), input_format)
        with located(WholeFile(file := source.file or str(path))):
            return Program._parsed(source, file, as_compiled, imported, trip_count, jax)

    @staticmethod
    def from_module(module: ModuleOp, *, as_compiled: bool | None = None, jax: str | None = None) -> Program:
        """Returns a copy of an xDSL module as a program, taken as by `parse`, with shardings of sdy.

        Raises:
            ShardyError: it is invalid.
        """
        expect(module, ModuleOp, "a module of xDSL", "Program.parse takes text")
        with releases.of(_release(jax) or releases.current()):
            verify_module(module)
            copied = Program(module).copy()
            read = taken_module(copied.module, as_compiled=as_compiled)
            program = Program(copied.module, taken=read.taken)
        program.origin = copied.origin
        say(read, "<module>")
        return program

    @staticmethod
    def from_jax(function: object, *arguments: object, **keywords: object) -> Program:
        """Returns a jitted function for these (abstract) arguments, as JAX's compiler propagates it.

        Needs jax; see `shardy_py.frontends.jax`, which can also return the text as JAX lowers it.
        """
        return extension("jax").lower(function, *arguments, **keywords)

    @staticmethod
    def from_torch(
        model: object, mesh: object = None, shardings: Mapping[str, object] | None = None, **options: object
    ) -> Program:
        """Returns the program of a module, or of a result of `torch.export.export`.

        shardings: shardings or placements by name. options: `plan`; for a module the arguments `args` and
        `kwargs` that it is exported with. Needs torch; see `shardy_py.frontends.torch`.
        """
        adaptor = extension("torch")
        if hasattr(model, "named_modules"):
            return adaptor.from_module(model, mesh=mesh, shardings=shardings, **options)
        return adaptor.from_exported(model, mesh, shardings, **options)

    @staticmethod
    def from_torch_training(
        model: object, loss: object, optimizer: object, example_inputs: object = (), **options: object
    ) -> Program:
        """Returns one training step of a module: forward, backward and the optimizer's update.

        loss: `loss(output, *targets)`, or None if the model returns it. example_inputs: a tuple, or keywords.
        options: those of `shardy_py.frontends.torch.from_training`, such as targets, mesh, shardings, plan.

        Needs torch.
        """
        return extension("torch").from_training(model, loss, optimizer, example_inputs, **options)

    @without_collection()
    def graph(self, *, plain: bool = True, target: str = "linear") -> OpGraph:
        """Returns the op graph as a `networkx.MultiDiGraph`: nodes are ops, edges are values (docs/graph.md).

        plain: whether attributes are text and numbers, which networkx's writers take; otherwise shapes,
        shardings, rules and records are objects. target: whose layouts values have: "linear" or "tpu".

        Raises:
            ShardyError: the target is unknown, or the value of a data-flow edge is none that has one.
        """
        from shardy_py.api.graphs import graph_of_program

        return graph_of_program(self, is_plain=plain, target=target)

    def save(self, path: str | PathLike[str], *, bytecode: bool = False) -> None:
        """Writes the program with its locations as MLIR text or bytecode, whole or not at all; for `load`.

        Raises:
            ShardyError: the file cannot be written.
        """
        from shardy_py.api.saved import write_program

        write_program(path, self, bytecode=bytecode)

    def __reduce__(self) -> tuple[object, ...]:
        return restored_program, (self.text(debuginfo=True), self.taken)

    def _repr_html_(self) -> str:
        from shardy_py.api.notebook import program_html

        return program_html(self)

    @without_collection()
    def copy(self) -> Program:
        """Returns the same program in another module; its `origin` maps the values here to those there."""
        mapping: dict[SSAValue, SSAValue] = {}
        module = clone(self.module, mapping)
        assert isinstance(module, ModuleOp)
        program = Program(module, self.sources.roots, self._taken)
        program.origin = mapping
        return program

    def with_trip_counts(self, trip_count: int | Mapping[str, int]) -> Program:
        """Returns the program with iterations of loops whose number it does not tell; as for `parse`.

        Raises:
            ShardyError: no loop is at a place, or a number is not one.
        """
        program = self.copy()
        set_trip_counts(program.module, TripCounts.of(trip_count))
        return program

    def with_release(self, jax: str) -> Program:
        """Returns the same program, followed through the Shardy and XLA of another release of JAX: "0.10".

        Raises:
            ShardyError: unknown release.
        """
        taken = replace(self.taken, release=_release(jax) or self.release)
        program = Program(self.module, self.sources.roots, taken)
        program.origin = self.origin
        return program

    def with_source_roots(self, *folders: str | PathLike[str]) -> Program:
        """Returns the same program, of whose locations Python files below these folders are read.

        Reports show their lines, and advice names their expressions. By default files are read below the
        folder of the program and the working directory; without folders, none are.
        """
        for folder in folders:
            expect(folder, (str, PathLike), "the path of a folder")
        program = Program(self.module, tuple(fspath(folder) for folder in folders), self._taken)
        program.origin = self.origin
        return program

    def annotate(self, shardings: Edits) -> Program:
        """Returns the program with these shardings: on arguments and results; as constraints on other values.

        A sharding is a `Sharding`, a `P(...)` or sdy text on the program's only mesh, a `NamedSharding` of
        JAX, or placements of DTensor; None removes the annotations of the value.

        Raises:
            ShardyError: a value or mesh cannot be found, or a sharding does not fit its value.
        """
        return self.edited(shardings, {})

    def group(self, *keys: ValueKey) -> Program:
        """Returns the program with a sharding group of these values: they get the same sharding."""
        return self._changed(lambda editor, find: editor.group([find(key) for key in keys]))

    def barrier(self, *keys: ValueKey, direction: str = "NONE") -> Program:
        """Returns the program with propagation barriers after these values.

        direction: the allowed direction: NONE, FORWARD, BACKWARD or BOTH.
        """
        return self._changed(lambda editor, find: [editor.barrier(find(key), direction) for key in keys])

    def with_mesh(self, mesh: MeshLike, name: str = "mesh") -> Program:
        """Returns the program with a mesh of that name, which replaces an existing one.

        Raises:
            ShardyError: shardings of the program use axes that the mesh lacks, or shapes that are local to
                its devices.
        """
        expect(name, str, "the name of a mesh")
        return self.edited({}, {name: as_mesh(mesh)})

    def edited(self, shardings: Edits, meshes: Mapping[str, Mesh]) -> Program:
        """Returns the program with these meshes by name, and annotated as by `annotate`."""
        expect(shardings, Mapping, 'shardings by value, as {"%arg0": P("x")}')
        named = {name.removeprefix("@"): mesh for name, mesh in meshes.items()}

        def edit(editor: Editor, find: Callable[[ValueKey], Value]) -> None:
            for name, mesh in named.items():
                editor.set_mesh(name, mesh)
            for key, sharding in shardings.items():
                editor.annotate(find(key), sharding)

        return self._changed(edit, {name: mesh for name, mesh in named.items() if name in self.meshes})

    def suggest(
        self,
        meshes: MeshLike | Iterable[MeshLike] = (),
        *,
        hardware: AxisPlacement | Hardware | str = "tpu-v5p",
        target: AxisPlacement | Hardware | str | None = None,
        memory: float | str | None = None,
        keep: ValueKey | Iterable[ValueKey] | Mapping[ValueKey, ShardingLike] = (),
        time_limit: float = 60,
        tries: int = 400,
        seed: int = 0,
        progress: bool = True,
        executor: Executor | None = None,
        workers: int | None = None,
        compile: bool | str = False,
    ) -> Suggestion:
        """Returns plans: shardings for the arguments of @main, with the time of a step and memory, by search.

        Annotations of the program are dropped, but those of `keep`: values, or shardings by value.
        meshes: tried in turn; by default the program's. hardware, target: a device, as for `Result.time`.
        memory: the most that a plan may need of a device: bytes, or "16GB", "16GiB", "90%"; None: no limit.
        time_limit: in seconds. tries: choices scored at most. seed: the order of changes. executor, workers:
        as for `Study.evaluate`. compile: the target's compiler, or that of a Python, judges the last plans.

        Raises:
            ShardyError: no mesh or several, unknown hardware or names, an invalid limit, no valid choice, or
                no compiler.
        """
        given = hardware, memory, keep, time_limit, tries, seed, progress, target, executor, workers, compile
        searching = extension("suggest")
        return searching.suggest(self, meshes, searching.Wanted(*given))

    @overload
    def run(self, name: str, /, **options: bool | int | str | Iterable[str]) -> Program: ...
    @overload
    def run(
        self, inputs: Inputs = (), /, *, function: str = ..., **options: Unpack[RunKeywords]
    ) -> RunResults: ...
    def run(self, name: Any = (), /, *, function: Any = None, **options: Any) -> Program | RunResults:
        """Runs the program on arrays, or runs a pass or pipeline of `sdy-opt` on the program.

        Given inputs, by the names, labels or positions of arguments, or in order: returns the results by
        name. Keywords are the function (default: @main, or the only one) and the fields of `RunOptions`:
        devices, probe, limits.

        Given the name of a pass, and its options by field name: returns the program after it.

        Raises:
            ShardyError: invalid inputs, or an op that fails; an unknown pass, pipeline or option, or a pass
                that rejects the program.
        """
        if isinstance(name, str):
            return self._after(name, options if function is None else {**options, "function": function})
        from shardy_py.api.execution import run_options, run_program

        expect(name, (Mapping, Sequence), 'inputs by argument, as {"%arg0": x}, or the name of a pass')
        return run_program(self.values, name, function, run_options(options))

    @without_collection()
    def _after(self, name: str, options: Mapping[str, object]) -> Program:
        calls = pass_calls(name, options)
        program = self.copy()
        run_passes(program.module, calls)
        return program

    @without_collection()
    def _changed(self, change: _Edit, replaced: Mapping[str, Mesh] = MappingProxyType({})) -> Program:
        copy = self.copy()
        editor = Editor(copy.module)
        change(editor, lambda key: copy.copied(self.find(key), copy.origin))
        editor.finish()
        try:
            verify_module(copy.module)
        except ShardyError as error:
            if not replaced:
                raise
            listed = " and ".join(f"@{name} {mesh}" for name, mesh in replaced.items())
            fact = f"new mesh {listed}: {error.first.message}"
            remedy = "change the annotations on the mesh too"
            raise ShardyError(Diagnostic(fact, error.first.where, remedy=remedy)) from None
        result = Program(copy.module, self.sources.roots, self._taken)
        result.origin = copy.origin
        return result


def _release(jax: str | None) -> Release | None:
    """The release that a caller names."""
    if jax is None:
        return None
    expect(jax, str, 'a release of JAX, as "0.10"')
    return releases.named(jax)


def restored_program(text: str, taken: Taken | None, file: str = "<program>") -> Program:
    """Returns the program of a text that `Program.text` made: it is taken as before, and stays as it is."""
    release = None if taken is None else taken.release
    read = read_module(text, file, imported=False, has_steps=False, release=release)
    return Program(read.module, taken=taken)
