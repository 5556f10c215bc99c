"""What the sender of a request is told that nobody serves."""

from __future__ import annotations

import importlib
import pkgutil

import mqframe.core.requests
from mqframe.core.requests.fields import REQUESTS
from mqframe.core.requests.unserved import UNSERVED, not_supported


def test_a_request_without_a_meaning_is_refused_with_a_reason() -> None:
    assert not_supported(908) == (
        "request code 908 is not supported: mqframe's slaves keep no flush offset of their master:"
        " they compare logs before they follow"
    )
    assert not_supported(4711) == "request code 4711 is not supported"


def test_what_is_served_has_no_reason_not_to_be() -> None:
    for module in pkgutil.iter_modules(mqframe.core.requests.__path__):
        importlib.import_module(f"mqframe.core.requests.{module.name}")
    assert not set(UNSERVED) & set(REQUESTS)
