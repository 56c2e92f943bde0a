"""The explorer: a propagated program as one HTML file, with its graph, shardings over time, and collectives.

    Path("program.html").write_text(page(document(Subject("program", table, record, communication))))

Data flows: module -> items -> folded items -> places, with the history of shardings -> document -> page.
"""

from shardy_py.viewer.explorer.document import document
from shardy_py.viewer.explorer.items import Item, Items, collect_items
from shardy_py.viewer.explorer.lives import Lives, lives
from shardy_py.viewer.explorer.page import page
from shardy_py.viewer.explorer.scopes import folded
from shardy_py.viewer.explorer.source_lines import source_lines
from shardy_py.viewer.explorer.subject import ShownFinding, Subject

__all__ = [
    "Item",
    "Items",
    "Lives",
    "ShownFinding",
    "Subject",
    "collect_items",
    "document",
    "folded",
    "lives",
    "page",
    "source_lines",
]
