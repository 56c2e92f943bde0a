"""`sdy-opt`: program text in, passes in the order written, program text out.

`flags.py` parses the command line (passes with options: `pass_text.py`), `driver.py`
does the work, `shell.py` prints failures.

    sdy-opt program.mlir --sdy-propagation-pipeline -o propagated.mlir
"""

from __future__ import annotations

from shardy_py.base import releases
from shardy_py.cli.flags import Command, parse_command
from shardy_py.cli.help import help_text
from shardy_py.cli.shell import FAILURE, STANDARD, SUCCESS, Files, log, run_command
from shardy_py.cli.version import version_text


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("sdy-opt", parse_command, _run, arguments, loads_plugins=True)


def _run(command: Command, files: Files) -> int:
    match command.shows:
        case "help":
            return files.show(help_text())
        case "version":
            return files.show(version_text("sdy-opt"))
        case "dialects":
            from shardy_py.mlir.dialects import known_dialects

            return files.show(f"Available Dialects: {','.join(known_dialects())}")
        case "":
            return _transform(command, files)


def _transform(command: Command, files: Files) -> int:
    from shardy_py.cli.driver import run  # loads xDSL, which --help need not wait for

    source = files.read(command.input, command.input_format)
    with releases.of(command.release or source.release or releases.current()):
        outcome = run(command, source.content, source.file, log)
    output = command.output or (None if command.reports else STANDARD)
    outputs = list[tuple[str, str | bytes]]([(STANDARD, outcome.reports)] if command.reports else ())
    if output is not None and (outcome.succeeded or output == STANDARD):
        outputs.append((output, outcome.output))
    files.write_all(outputs)
    return SUCCESS if outcome.succeeded else FAILURE
