"""Sphinx configuration. Before the build, pages are written from the code: settings, requests, plugins, …"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from compatibility import compatibility_page
from generate import commands_page, distributions_table, kinds_table, requests_page, settings_page

project = "mqframe"
author = "the mqframe developers"
project_copyright = author
html_theme = "furo"
html_title = "mqframe"
html_static_path = ["_static"]
html_css_files = ["mqframe.css"]
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "_generated"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
suppress_warnings = ["config.cache"]

GENERATED = {
    "reference/settings": {"generated": settings_page},
    "reference/requests": {"generated": requests_page},
    "reference/cli": {"generated": commands_page},
    "reference/compatibility": {"generated": compatibility_page},
    "explanation/plugins": {"kinds": kinds_table, "distributions": distributions_table},
}
"""By page: what its marks, such as `{generated}`, stand for."""


def write_page(app: Any, docname: str, source: list[str]) -> None:
    """Fill a page's marks with what the code says."""
    for mark, make in GENERATED.get(docname, {}).items():
        source[0] = source[0].replace(f"{{{mark}}}", make())


def plain_docstrings(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings here are plain text with `code`: made literal, and indented examples kept as they are."""
    text, code = [], False
    for line in lines:
        indented = line.startswith("    ")
        if indented and not code and (not text or not text[-1].strip()):
            text += ["::", ""]
            code = True
        elif line.strip() and not indented:
            code = False
        text.append(line if code else line.replace("`", "``").replace("*", "\\*").replace("|", "\\|"))
    lines[:] = text


TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
LONG_WORD = re.compile(r"(?<=>)[^<>]*[^\s<>]{11,}[^<>]*(?=<)")
BREAK = re.compile(r"(?<=\w[_./=,:|-])(?=[A-Za-z])|(?<=[a-z0-9])(?=[A-Z])")


def breakable_tables(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Let browsers break long names in tables between their words, so that tables fit their column."""
    if "body" in context:

        def mend(table: re.Match[str]) -> str:
            return LONG_WORD.sub(lambda words: BREAK.sub("<wbr>", words[0]), table[0])

        context["body"] = TABLE.sub(mend, context["body"])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", write_page)
    app.connect("autodoc-process-docstring", plain_docstrings)
    app.connect("html-page-context", breakable_tables)
