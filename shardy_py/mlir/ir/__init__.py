"""xDSL's IR as this package reads, walks, builds and changes it; only this package uses its private fields.

xDSL's public properties and methods check and copy at each call; a pass over 20,000 ops makes millions of
calls. Ops built here equal those that xDSL builds: tests compare all fields, for the pinned version.

- reading: `operands_of`, `type_of`, `next_use`, `terminator_of`, `owning_op`, `blocks_of`, `written_name`
- walking: `walk_pre_order`, `walk_post_order`; no recursion. `find_ops`, `ops_in`: lists, kept by `indexed`
- building: `build_operation`, `append_plain`, `attach_operands`, `append_arguments`, `append_block`,
  `region_of`, `set_location`; nothing is verified. Fields are set one by one, so that CPython stores them in
  the object: as a dictionary they take twice the memory and time
- places: `LOCATION_OF_PLACE`, `keeps_place`, `make_room`: locations that are made when asked for
- names: `file_names`, `keep_file_name`, `copy_file_names`, `add_file_names`
- changing: `set_type`, `set_uses`, `renew_uses`, `replace_uses`, `place_before`, `take_out`, `erase`

Uses of a value stay in MLIR's order (newest use first), because passes and propagation visit users in it. A
walk reads the next operation before it yields, so the caller may erase or move the yielded operation, and no
other.
"""

from shardy_py.mlir.ir.building import (
    append_arguments,
    append_block,
    append_plain,
    attach_operands,
    build_operation,
    region_of,
    set_location,
)
from shardy_py.mlir.ir.changing import (
    OperandChanges,
    convert,
    cut_off,
    erase,
    inline_region,
    operands_set_together,
    place_after,
    place_after_value,
    place_at_end,
    place_at_start,
    place_before,
    renew_uses,
    replace_operand,
    replace_uses,
    set_operands,
    set_order,
    set_type,
    set_uses,
    take_out,
)
from shardy_py.mlir.ir.file_names import add_file_names, copy_file_names, file_names, keep_file_name
from shardy_py.mlir.ir.op_index import OpIndex, indexed
from shardy_py.mlir.ir.places import LOCATION_OF_PLACE, keeps_place, make_room
from shardy_py.mlir.ir.reading import (
    blocks_of,
    next_op,
    next_use,
    operands_of,
    owning_op,
    terminator_of,
    type_of,
    user_of,
    written_name,
)
from shardy_py.mlir.ir.text import give_text, printed_names, resume_parser
from shardy_py.mlir.ir.walking import (
    find_ops,
    find_ops_where,
    op_names,
    ops_in,
    ops_with_regions,
    walk_post_order,
    walk_pre_order,
)

__all__ = [
    "LOCATION_OF_PLACE",
    "OpIndex",
    "OperandChanges",
    "add_file_names",
    "append_arguments",
    "append_block",
    "append_plain",
    "attach_operands",
    "blocks_of",
    "build_operation",
    "convert",
    "copy_file_names",
    "cut_off",
    "erase",
    "file_names",
    "find_ops",
    "find_ops_where",
    "give_text",
    "indexed",
    "inline_region",
    "keep_file_name",
    "keeps_place",
    "make_room",
    "next_op",
    "next_use",
    "op_names",
    "operands_of",
    "operands_set_together",
    "ops_in",
    "ops_with_regions",
    "owning_op",
    "place_after",
    "place_after_value",
    "place_at_end",
    "place_at_start",
    "place_before",
    "printed_names",
    "region_of",
    "renew_uses",
    "replace_operand",
    "replace_uses",
    "resume_parser",
    "set_location",
    "set_operands",
    "set_order",
    "set_type",
    "set_uses",
    "take_out",
    "terminator_of",
    "type_of",
    "user_of",
    "walk_post_order",
    "walk_pre_order",
    "written_name",
]
