"""The explorer: a propagated program as one HTML file, with its graph, shardings over time, and collectives.

    Path("program.html").write_text(page(document(Subject("program", table, record, communication))))

Data flows: module -> items -> folded items -> places, with the history of shardings -> document -> page.
"""

from shardy_py.viewer.explorer.document import Subject, document
from shardy_py.viewer.explorer.items import Item, Items, collect_items
from shardy_py.viewer.explorer.lives import Lives, lives
from shardy_py.viewer.explorer.page import page
from shardy_py.viewer.explorer.scopes import folded
from shardy_py.viewer.explorer.source_lines import source_lines

__all__ = [
    "Item",
    "Items",
    "Lives",
    "Subject",
    "collect_items",
    "document",
    "folded",
    "lives",
    "page",
    "source_lines",
]
