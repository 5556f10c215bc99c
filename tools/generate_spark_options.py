"""Writes the tables of the Spark plugin's options into its README and the reference, from their declarations.

    python tools/generate_spark_options.py            write the files
    python tools/generate_spark_options.py --check    fail when a file is not what would be written

A table stands between `<!-- options: NAME -->` and `<!-- end of options -->`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Final

from mqframe_spark.access import Access
from mqframe_spark.given import options_of
from mqframe_spark.sink.options import SinkOptions
from mqframe_spark.source.options import SourceOptions

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from generate import table  # noqa: E402 - a script beside the pages, no package

PAGES: Final = ("plugins/spark/README.md", "docs/reference/spark.md")
CLASSES: Final = {"source": SourceOptions, "sink": SinkOptions, "access": Access}
_PLACE: Final = re.compile(r"(<!-- options: (\w+) -->\n\n).*?(\n<!-- end of options -->)", re.DOTALL)


def options_table(cls: type[Any]) -> str:
    """The options that `cls` declares: name, default and meaning."""
    rows = [(f"`{name}`", _default(field.default), field.metadata["doc"]) for name, field in options_of(cls)]
    return table(("Option", "Default", "Meaning"), rows)


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str) and value not in ("", "*"):
        return f"`{value}`"
    return str(value) if isinstance(value, int | float) else ""


def written(text: str) -> str:
    """`text` of a page, with its tables made anew."""
    return _PLACE.sub(lambda found: found[1] + options_table(CLASSES[found[2]]) + found[3], text)


def main() -> int:
    """How many pages are not what they should be; with `--check` they stay so."""
    wrong = 0
    for name in PAGES:
        path = ROOT / name
        text = path.read_text()
        if written(text) != text:
            if "--check" in sys.argv:
                wrong += 1
                print(f"{name}: not what tools/generate_spark_options.py writes")
            else:
                path.write_text(written(text))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
