"""HLO's protocol buffers: a reader of modules without the package `protobuf`.

`read_proto(data, file, sharding_text)` gives the same values as the reader of text (`hlo/text/`).
"""

from shardy_py.hlo.proto.reader import read_proto

__all__ = ["read_proto"]
