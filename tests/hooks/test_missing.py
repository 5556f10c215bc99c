"""What is said of what this project brings in distributions that are not installed."""

from __future__ import annotations

from mqframe.hooks.known_distributions import KNOWN_REQUESTS
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.missing import missing_requests, missing_services

SCHEDULES = "mqframe-plugin-schedules"


def test_the_section_of_a_service_says_what_to_install() -> None:
    told = missing_services({SCHEDULES})
    assert told == {"schedules": f"pip install {SCHEDULES}"}
    assert missing_services(()) == {}


def test_a_section_of_clients_is_none_of_the_service_that_is_called_so() -> None:
    assert missing_services({"mqframe-plugin-admin"}) == {}


def test_requests_say_what_to_install() -> None:
    told = missing_requests({SCHEDULES})
    assert told.keys() == {code for code, brings in KNOWN_REQUESTS.items() if brings == SCHEDULES} >= {21330}
    assert told[21330] == f"{SCHEDULES} is not installed there; install it with: pip install {SCHEDULES}"
    assert missing_requests(()) == {}


def test_everything_of_this_project_is_installed_here() -> None:
    assert missing_requests(PluginManager().not_installed()) == {}
