"""Shows one sharding: in words, as a picture of text, as SVG.

    print(describe(sharding, mesh, (8, 16)))            the axes and shards of each dimension
    print(describe_device(sharding, mesh, (8, 16), 3))  the shard of device 3
    print(draw(sharding, mesh, (8, 16)))                the shards as boxes, with their devices
    Path("view.svg").write_text(to_svg(sharding, mesh, (8, 16)))

Not here: all values of a program (`local_shapes.py`), the command (`cli/view.py`).
"""

from shardy_py.report.view_picture import draw
from shardy_py.report.view_svg import to_svg
from shardy_py.report.view_words import describe, describe_device

__all__ = ["describe", "describe_device", "draw", "to_svg"]
