"""Keys that no setting names: unknown without a dialect, and what a dialect says of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pytest
from conf_files import broker_conf

from mqframe.core.config.configuration import resolve
from mqframe.core.config.dialect import NO_DIALECT, Dialect
from mqframe.core.config.layers import Given, command_line
from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import SettingError


@settings("kiln")
class KilnSettings:
    """A kiln."""

    heat: int = setting(900, doc="degrees", conf="kilnHeat")


class Potters(Dialect):
    """What potters write into files."""

    keys = frozenset({"kilnHeat", "glaze", "wood.kind"})
    renamed = {"fire": "kilnHeat"}

    def refusal(self, given: Mapping[str, Given], sections: Iterable[str], role: str, moved: bool) -> str:
        return f"no {given['glaze'].value} glaze in {', '.join(sections)}" if "glaze" in given else ""

    def warnings(self, given: Mapping[str, Given]) -> Iterator[str]:
        return (f"{key} is of no use" for key in given)


def test_without_one_a_key_that_no_setting_names_is_unknown() -> None:
    assert resolve([KilnSettings], [broker_conf("kilnHeat=1", "f")]).section(KilnSettings).heat == 1
    with pytest.raises(SettingError, match="glaze from f:1 is no key that is known"):
        resolve([KilnSettings], [broker_conf("glaze=red", "f")])
    assert NO_DIALECT.refusal({}, ["kiln"], "", False) == ""
    assert list(NO_DIALECT.warnings({"glaze": Given("glaze", "red", "f:1")})) == []


def test_its_keys_have_no_effect_and_are_told() -> None:
    layers = [broker_conf("wood.kind=oak", "f"), command_line(["wood.kind=ash"])]
    assert resolve([KilnSettings], layers, dialect=Potters()).warnings == ("wood.kind is of no use",)
    with pytest.raises(SettingError, match=r"fir from f:1.*did you mean fire\?|fir from f:1"):
        resolve([KilnSettings], [broker_conf("fir=1", "f")], dialect=Potters())


def test_an_older_name_of_a_key_means_the_setting() -> None:
    found = resolve([KilnSettings], [broker_conf("fire=700", "f")], dialect=Potters())
    assert (found.section(KilnSettings).heat, found.entries[0].origin) == (700, "f:1 fire")


def test_what_it_refuses_stops_the_start() -> None:
    with pytest.raises(SettingError, match="no red glaze in kiln"):
        resolve([KilnSettings], [broker_conf("glaze=red", "f")], dialect=Potters())
