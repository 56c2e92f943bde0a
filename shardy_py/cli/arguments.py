"""The command lines of all commands but `sdy-opt`: argparse, whose mistakes become `ShardyError`s.

Not here: LLVM's conventions for flags, which `sdy-opt` follows (`flags.py`).

>>> command_parser("greet", "").parse_args(["--loud"])
Traceback (most recent call last):
    ...
shardy_py.base.errors.ShardyError: <command line>:0:0: error: unrecognized arguments: --loud
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NoReturn

from shardy_py.base.errors import Diagnostic, ShardyError, suggestion
from shardy_py.base.inputs.formats import FORMATS
from shardy_py.base.plugins import load_plugins
from shardy_py.base.source_files import default_roots
from shardy_py.cli.shell import MOST_COLUMNS, STANDARD, Files, argument, usage_error
from shardy_py.cli.version import version_text

if TYPE_CHECKING:
    from shardy_py.hardware.cost import CostModel
    from shardy_py.sharding import Mesh


_MOST_DEVICES = 1 << 16
INPUT_FORMAT = "Format of the input (default: found out by its content)"
"""The help of `--input-format`."""
EXIT_CODES = "Exit codes: 0; 1: invalid input or command line; 2: internal error."
"""The exit codes of most commands."""
_HEADINGS: Mapping[str, str] = {
    flag: heading
    for heading, flags in (
        ("program", "--program --value --as-compiled --as-written --jax --propagate --no-propagate --iopddl"),
        ("program", "--function --source-root --no-source --split-input-file"),
        (
            "findings",
            "--select --ignore --level --fail-on --replicated-bytes --reshard-bytes --padding-bytes --rules",
        ),
        ("findings", "--expect --baseline --write-baseline --fix-baseline"),
        ("settings", "--config --isolated --force-exclude"),
        ("costs", "--model --partitioner --target --hardware --memory"),
        ("sharding", "--mesh --shape --device --plan --shardings"),
        ("search", "--devices --keep --time-limit --tries --seed"),
        ("inputs and limits", "--inputs --random --args --max-elements --max-steps"),
        (
            "output",
            "-o --output --json --csv --format --color --sarif --svg --code --diff --output-dir --explain",
        ),
        ("output", "--exit-code --probe --trace --probe-output-dir --interpret --interpreter-print-dense"),
        ("general", "--help --version --no-progress --load --workers"),
    )
    for flag in flags.split()
}
"""The heading of each flag in the help of commands that have headings."""


class ArgumentParser(argparse.ArgumentParser):
    """An argparse parser that raises `ShardyError` instead of exiting; flags are written in full."""

    color = False  # argparse of Python 3.14 adds escape sequences
    headings: Mapping[str, str] = {}
    """The headings of flags that are other ones here than in other commands."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, allow_abbrev=False, formatter_class=_HelpFormatter, **keywords)

    def print_help(self, file: object = None) -> None:
        """Called by argparse for --help."""
        Files().write(STANDARD, self.format_help())

    def format_help(self) -> str:
        """Called by argparse for --help: flags stand below their headings."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        sections: dict[str, list[argparse.Action]] = {"arguments": []}
        sections |= {heading: [] for heading in (*_HEADINGS.values(), "options")}
        sections["general"] = sections.pop("general")
        for action in self._actions:
            flag = next((f for f in reversed(action.option_strings) if f in _HEADINGS), "")
            heading = "arguments" if not action.option_strings else _HEADINGS.get(flag, "options")
            sections[self.headings.get(flag, heading)].append(action)
        for heading, actions in sections.items():
            formatter.start_section(heading)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def error(self, message: str) -> NoReturn:
        """Called by argparse with its message."""
        raise usage_error(message)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Called by argparse for a command and for its subcommands; an unknown flag is the first error."""
        known = self._option_string_actions
        flags = (word.partition("=")[0] for word in takewhile("--".__ne__, args or ()))
        if self._subparsers is None:
            for flag in flags:
                if flag.startswith("--") and flag not in known:
                    hint = suggestion(flag, [each for each in known if each.startswith("--")])
                    raise usage_error(f"unrecognized arguments: {flag}{hint and f'; {hint}'}")
        return super().parse_known_args(args, namespace)

    def _get_value(self, action: argparse.Action, arg_string: str) -> object:
        """Called by argparse to read a value, which errors are placed in."""
        name = action.option_strings[0] if action.option_strings else str(action.metavar or action.dest)
        with argument(name, arg_string):
            return super()._get_value(action, arg_string)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Called by argparse for a value that has choices."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            if hint := suggestion(str(value), map(str, action.choices or ())):
                error.message += f"; {hint}"
            raise


class _HelpFormatter(argparse.HelpFormatter):
    """Help of at most 100 columns."""

    def __init__(self, prog: str, **keywords: Any) -> None:
        from shutil import get_terminal_size  # takes as long to load as all arguments to read

        keywords["width"] = min(MOST_COLUMNS, get_terminal_size().columns - 2)
        super().__init__(prog, max_help_position=30, **keywords)


class _Version(argparse.Action):
    """Prints the version and exits, as argparse's own does."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        Files().show(version_text(parser.prog))
        parser.exit()


def command_parser(name: str, description: str, epilog: str | None = None, usage: str = "") -> ArgumentParser:
    """Returns the parser of a command, with `--version`.

    usage: its positional arguments, as in `PROGRAM [OTHER]`.
    """
    shown = f"%(prog)s [options] {usage}" if usage else None
    parser = ArgumentParser(name, usage=shown, description=description, epilog=epilog)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    return parser


def add_input_format(parser: argparse.ArgumentParser) -> None:
    """Adds `--input-format`, whose value is `input_format`; "": by content."""
    parser.add_argument(
        "--input-format", choices=[*FORMATS], default="", help=INPUT_FORMAT[0].lower() + INPUT_FORMAT[1:]
    )


def checked_cost_model(text: str) -> str:
    """Returns the text of a cost model. Raises `ShardyError` if it is invalid."""
    read_cost_model(text)
    return text


class _Load(argparse.Action):
    """Loads the plugin that is its value, and adds it to `plugins`."""

    def __call__(
        self, parser: argparse.ArgumentParser, options: object, values: Any, _: object = None
    ) -> None:
        with argument("--load"):
            load_plugins(values)
        vars(options).setdefault("plugins", []).append(values)


LOAD = "load a plugin: a module, or a file name.py; repeatable"
"""The help of `--load`."""


def add_plugins(parser: argparse.ArgumentParser) -> None:
    """Adds `--load`, which loads the plugins that it names."""
    parser.add_argument("--load", action=_Load, dest=argparse.SUPPRESS, metavar="MODULE", help=LOAD)


def add_source_roots(parser: argparse.ArgumentParser) -> None:
    """Adds `--source-root`: `source_roots` is the list of folders, or None."""
    roots = (
        "read .py files that the program names below this folder; repeatable (default: the folders of the "
    )
    roots += "program and of the working directory)"
    parser.add_argument("--source-root", action="append", dest="source_roots", metavar="DIR", help=roots)


def source_roots(given: list[str] | None, program: str) -> tuple[str, ...]:
    """Returns the folders of `--source-root`, or the default ones for the file of a program."""
    return default_roots(program) if given is None else tuple(given)


def checked_target(text: str) -> str:
    """Returns the text of a target. Raises `ShardyError` if it is invalid."""
    from shardy_py.xla.targets.stage import stage_of

    stage_of(text)
    return text


def add_target(parser: argparse.ArgumentParser) -> None:
    """Adds `--target`: the text of a device, or None."""
    parser.add_argument("--target", type=checked_target, metavar="DEVICE", help=TARGET)


TARGET = (
    "device whose compiler's program is meant: h100, h200, b200, tpu-v5e, tpu-v5p, tpu-v6e, tpu7x, cpu, "
    "my.toml, ..., with places of axes: h100,data=beyond (default: the program as partitioned)"
)
"""The help of `--target`."""


def mesh_of_sizes(text: str) -> Mesh:
    """Returns the mesh of `data=8,model=4`. Raises `ShardyError` for other text."""
    from shardy_py.sharding import Mesh

    sizes: dict[str, int] = {}
    for part in text.split(","):
        name, equals, size = part.partition("=")
        if not equals or not name:
            raise ShardyError.unexpected("", expected="axes such as data=8,model=4", got=f"'{part}'")
        if name in sizes:
            raise ShardyError(Diagnostic(f"axis '{name}' is given twice", subject=name))
        sizes[name] = count(size)
    return Mesh.of(sizes)


def count(text: str) -> int:
    """Returns a number of devices, or of other things. Raises `ShardyError` for other text."""
    if not (text.isascii() and text.isdigit()) or not 0 < int(text[:9]) <= _MOST_DEVICES or len(text) > 9:
        raise ShardyError.unexpected("", expected=f"a number from 1 to {_MOST_DEVICES}", got=f"'{text}'")
    return int(text)


def read_cost_model(text: str) -> CostModel:
    """The cost model of that text, as `cost_model` reads it, imported on demand."""
    from shardy_py.hardware.cost import cost_model

    return cost_model(text)
