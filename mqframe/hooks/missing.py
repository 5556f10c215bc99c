"""What this project's distributions that are not installed would bring, and what to type to have them."""

from __future__ import annotations

from collections.abc import Collection

from mqframe.core.config.programs import ALL_SECTIONS
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS, KNOWN_REQUESTS, KNOWN_SECTIONS
from mqframe.hooks.names import install_line
from mqframe.hooks.options import section_of

_SERVICE = "broker_service"


def missing_services(not_installed: Collection[str]) -> dict[str, str]:
    """What to type to have each broker service that is not there, by its section of settings.

    `not_installed`: as `PluginManager.not_installed`. A section that a program has anyway is none of a
    service: that of administration's clients.
    """
    others = ALL_SECTIONS | {section for _, section in KNOWN_SECTIONS}
    return {
        section_of(name): install_line(brings)
        for (kind, name), brings in KNOWN_DISTRIBUTIONS.items()
        if kind == _SERVICE and brings in not_installed and section_of(name) not in others
    }


def missing_requests(not_installed: Collection[str]) -> dict[int, str]:
    """Why requests are not served of which distributions know that are not there, by their codes."""
    return {
        code: f"{brings} is not installed there; install it with: {install_line(brings)}"
        for code, brings in KNOWN_REQUESTS.items()
        if brings in not_installed
    }
