"""The console scripts: each loads its command and runs it; an interrupt at any time leaves no traceback.

Not here: the commands (`cli/`). This module imports nothing that Python itself has not, so that
interrupts are handled from the start.
"""

from os import _exit, environ

_INTERRUPTED = 130
"""The exit code of a command that was interrupted, as shells report it."""


def run(module: str) -> int:
    """Runs the command of a module with the arguments of the process, and ends the process.

    A server that `shardy-serve` has started runs it, if there is one. Returns the exit code if the process
    has more to do than to end with it.
    """
    if address := environ.get("SHARDY_SERVER"):
        from shardy_py.cli import remote

        code = remote.run(address, module)
        if code is not None:
            return code
    code = run_here(module)
    _end(code)
    return code


def _end(code: int) -> None:
    """Ends the process as `sys.exit` does, but leaves its memory to the system; returns if others look on.

    To free the objects one by one takes a thirtieth of the time of a command on a small program.
    """
    import atexit
    import sys

    threading = sys.modules.get("threading")
    has_threads = threading is not None and threading.active_count() > 1
    if has_threads or sys.gettrace() or sys.getprofile() or sys.flags.inspect or sys.flags.interactive:
        return
    atexit._run_exitfuncs()  # pyright: ignore
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return  # the interpreter reports it
    _exit(code)


def run_here(module: str) -> int:
    """Runs the command of a module in this process; returns the exit code.

    While it loads, and after it, an interrupt ends the process.
    """
    signals = __import__("_signal")  # which is built in, while `signal` loads further modules
    is_handled = signals.getsignal(signals.SIGINT) is signals.default_int_handler  # not in the background
    if is_handled:
        signals.signal(signals.SIGINT, signals.SIG_DFL)
    import gc
    from importlib import import_module

    was_collecting = gc.isenabled()
    gc.disable()  # what modules make on loading is kept: to look for garbage takes a thirtieth of the time
    main = import_module(module).main
    if was_collecting:
        gc.enable()
    try:
        if is_handled:
            from shardy_py.cli.shell import INTERRUPTS

            signals.signal(signals.SIGINT, INTERRUPTS)
        return main()
    except KeyboardInterrupt:
        return _INTERRUPTED
    finally:
        if is_handled:
            signals.signal(signals.SIGINT, signals.SIG_DFL)


def sdy_opt() -> int:
    """Runs `sdy-opt`."""
    return run("shardy_py.cli.opt")


def hlo_indexing() -> int:
    """Runs `hlo-indexing`."""
    return run("shardy_py.cli.hlo_indexing")


def hlo_layout() -> int:
    """Runs `hlo-layout`."""
    return run("shardy_py.cli.layout")


def sdy_check() -> int:
    """Runs `sdy-check`."""
    return run("shardy_py.cli.check")


def sdy_compare() -> int:
    """Runs `sdy-compare`."""
    return run("shardy_py.cli.compare")


def sdy_diff() -> int:
    """Runs `sdy-diff`."""
    return run("shardy_py.cli.diff")


def sdy_suggest() -> int:
    """Runs `sdy-suggest`."""
    return run("shardy_py.cli.suggest")


def shardy_explorer() -> int:
    """Runs `shardy-explorer`."""
    return run("shardy_py.cli.explorer")


def shardy_lsp() -> int:
    """Runs `shardy-lsp`."""
    return run("shardy_py.cli.lsp")


def shardy_serve() -> int:
    """Runs `shardy-serve`."""
    return run_here("shardy_py.cli.serving")


def shardy_view() -> int:
    """Runs `shardy-view`."""
    return run("shardy_py.cli.view")


def stablehlo_interpret() -> int:
    """Runs `stablehlo-interpret`."""
    return run("shardy_py.cli.interpret")
