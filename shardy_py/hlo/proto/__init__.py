"""HLO's protocol buffers: a reader of modules without the package `protobuf`.

`read_proto(data, file, sharding_text)` gives the same values as the reader of text (`hlo/text/`);
`encoded_module(text, file)` is the data of a protocol buffer that is text.
"""

from shardy_py.hlo.proto.reader import read_proto
from shardy_py.hlo.proto.text_format import encoded_module

__all__ = ["encoded_module", "read_proto"]
