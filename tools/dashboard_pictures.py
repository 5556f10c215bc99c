"""Renews the pictures of the dashboard in `docs/_static/dashboard`.

    python tools/dashboard_pictures.py

A shop is opened, its dashboard served, and Chromium, which has to be installed, looks at it: half a minute.
"""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "plugins/dashboard/tests"))

import chromium  # noqa: E402
import dashboard_shop  # noqa: E402

FOLDER = ROOT / "docs/_static/dashboard"
LOOKS = 40
"""How often rates are looked at before, so that they have something to show."""
COLOURS = 64
"""Of a picture: text and lines need no more, and files stay small."""


class Picture(NamedTuple):
    """A page from its top; `height`: how much of it, pixels."""

    path: str
    height: int
    scheme: str = "light"


PICTURES = {
    "topic": Picture("topic?name=orders", 720),
    "group": Picture("group?name=shipping", 800),
    "messages": Picture("messages?topic=orders&limit=8", 600, "dark"),
    "delayed": Picture("delayed", 770),
}


def main() -> None:
    """Make all pictures."""
    path = chromium.executable()
    if path is None:
        raise SystemExit(f"Chromium is not installed: none of {', '.join(chromium.NAMES)} is on PATH")
    FOLDER.mkdir(exist_ok=True)
    with (
        chromium.started(path) as browser,
        dashboard_shop.open_shop() as busy,
        chromium.served(busy.nameserver, interval=0.5) as url,
    ):
        for look in range(LOOKS):
            busy.order(2 + look * 7 % 11)
            time.sleep(0.5)
        for name, picture in PICTURES.items():
            busy.order(9)
            time.sleep(0.5)
            file = FOLDER / f"{name}.png"
            file.write_bytes(taken(browser, url, picture))
            print(f"{file.relative_to(ROOT)}: {file.stat().st_size} bytes")


def taken(browser: Browser, url: str, picture: Picture) -> bytes:
    """The picture as a small PNG."""
    size = {"width": 1160, "height": picture.height}
    with browser.new_context(viewport=size, color_scheme=picture.scheme) as context:
        page = context.new_page()
        page.goto(url + picture.path)
        image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    small = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    main()
