"""Sections that a configuration has before what brings them is installed."""

from __future__ import annotations

import pytest
from conf_files import broker_conf

from mqframe.core.config.layers import Layer, command_line, environment, toml
from mqframe.core.config.missing_sections import refuse_missing_sections
from mqframe.core.errors import SettingError

LINES = {"weather": "pip install mqframe-plugin-weather"}


@pytest.mark.parametrize(
    ("layer", "named"),
    [
        (toml("[weather]\nplace = 'here'", "a.toml"), r"weather\.place from a\.toml \[weather\]"),
        (command_line(["weather.place=here"]), r"weather\.place from command line --set weather\.place"),
        (
            environment({"MQFRAME_WEATHER_PLACE": "here"}),
            "MQFRAME_WEATHER_PLACE from variable MQFRAME_WEATHER_PLACE",
        ),
    ],
)
def test_a_value_of_one_is_refused_with_its_origin_and_what_to_install(layer: Layer, named: str) -> None:
    told = (
        f"^{named}: what has the section weather is not installed;"
        " install it with: pip install mqframe-plugin-weather$"
    )
    with pytest.raises(SettingError, match=told):
        refuse_missing_sections([toml("[broker]\nname = 'a'", "b.toml"), layer], LINES)


def test_so_is_a_key_of_rocketmq_that_asks_for_another_role() -> None:
    lines = {"replication": "pip install mqframe-plugin-replication"}
    conf = broker_conf("listenPort=1\nbrokerRole=SLAVE", "broker.conf", ["broker"])
    told = r"^brokerRole from broker\.conf:2.* section replication is not installed; install it with: pip"
    with pytest.raises(SettingError, match=told):
        refuse_missing_sections([conf], lines)
    refuse_missing_sections([conf], LINES)


def test_other_sections_are_not_looked_at() -> None:
    layers = [
        toml("[weathers]\nplace = 'here'\n[broker.weather]\nname = 'a'", "a.toml"),
        environment({"MQFRAME_WEATHERS_PLACE": "here", "MQFRAME_BROKER_NAME": "a"}),
    ]
    refuse_missing_sections(layers, LINES)


def test_what_was_there_once_and_is_elsewhere_now_goes_on_working() -> None:
    layers = [
        toml("[weather]\nmoon = 'new'", "a.toml"),
        environment({"MQFRAME_WEATHER_MOON": "new"}),
    ]
    refuse_missing_sections(layers, LINES, {"weather.moon"})
    with pytest.raises(SettingError, match=r"weather\.place from b\.toml"):
        refuse_missing_sections(
            [*layers, toml("[weather]\nplace = 'here'", "b.toml")], LINES, {"weather.moon"}
        )
