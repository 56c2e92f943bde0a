"""HLO's protocol buffers: a reader of modules without the package `protobuf`.

`read_proto(data, file, sharding_text)` gives the same values as the reader of text (`hlo/text/`).
"""

from shardy_py.hlo.proto.reader import module_in, read_proto

__all__ = ["module_in", "read_proto"]
