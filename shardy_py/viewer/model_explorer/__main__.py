"""Starts Model Explorer on programs, with the adapters and node data of this package chosen.

python -m shardy_py.viewer.model_explorer program.mlir
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from shardy_py.base.errors import ShardyError
from shardy_py.viewer.model_explorer.package import EXTENSION, package
from shardy_py.viewer.model_explorer.programs import graphs_of_file


def main(arguments: list[str] | None = None) -> int:
    """Runs the server until it is interrupted; returns the exit code."""
    options = _parse(arguments)
    try:
        explorer = package()
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    config = explorer.config()
    for path in options.programs:
        try:
            found = graphs_of_file(path, is_propagated=not options.as_written)
        except ShardyError as error:
            print(error, file=sys.stderr)
            return 1
        config.add_model_from_path(path, adapterId=_adapter(options.as_written))
        for name, data in found.node_data.items():
            config.add_node_data(name, json.dumps(data), model_name=Path(path).name)
    explorer.visualize_from_config(
        config,
        host=options.host,
        port=options.port,
        extensions=[EXTENSION],
        no_open_in_browser=options.no_open_in_browser,
    )
    return 0


def _adapter(as_written: bool) -> str:
    from shardy_py.viewer.model_explorer.main import AS_WRITTEN, PROPAGATED

    return AS_WRITTEN if as_written else PROPAGATED


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    description = "Shows programs in Model Explorer with shardings, collectives and bytes per device."
    parser = argparse.ArgumentParser("python -m shardy_py.viewer.model_explorer", description=description)
    add = parser.add_argument
    add("programs", nargs="+", metavar="FILE", help="MLIR files")
    add("--as-written", action="store_true", help="do not propagate")
    add("--host", default="localhost", help="of the server (default: localhost)")
    add("--port", type=int, default=8080, help="of the server (default: 8080, or a free one)")
    add("--no_open_in_browser", action="store_true", help="only start the server")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
