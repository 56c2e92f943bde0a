"""Commands that a server runs: this process hands over arguments, folder, environment and streams, and waits.

The request: the length of what follows, as four bytes, with the descriptors of the streams; then texts that
end with a zero byte: the module, the folder, encoding and errors of each stream, the number of arguments,
the arguments, the environment. The answer: the exit code, as one byte.

Imports little, as it is all that a command loads. Not here: the other end (`serving.py`).
"""

from __future__ import annotations

import os
import socket
import sys

SERVER = "SHARDY_SERVER"
"""The variable of the environment that names the server's socket."""
FAULT = 2
"""The exit code when the server ends without an answer."""
LENGTH_BYTES = 4


def run(address: str, module: str) -> int | None:
    """Has the server at an address run the command of a module; returns its exit code.

    None: there is no server that answers, or a stream is closed, so that this process must run it.
    """
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if any(stream is None for stream in streams):  # pyright: ignore[reportUnnecessaryComparison]
        return None
    texts = [module, os.getcwd()]
    for stream in streams:
        texts += (stream.encoding, stream.errors or "strict")
    texts += (
        str(len(sys.argv) - 1),
        *sys.argv[1:],
        *(f"{name}={value}" for name, value in os.environ.items()),
    )
    request = b"".join(os.fsencode(text) + b"\0" for text in texts)
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(address)
            length = len(request).to_bytes(LENGTH_BYTES, "big")
            socket.send_fds(server, [length], [stream.fileno() for stream in streams])
            server.sendall(request)
        except OSError:
            return None
        answer = server.recv(1)
    if not answer:
        print(f"{module.rpartition('.')[2]}: the server of {SERVER} ended without an answer", file=sys.stderr)
        return FAULT
    return answer[0]
