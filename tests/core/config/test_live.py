"""Settings of a running server: shown as lines, changed by lines."""

from __future__ import annotations

import pytest

from mqframe.core.config.live import ChangedSettings, as_lines, changed, kept, origins_of
from mqframe.core.config.settings import at_least, setting, settings
from mqframe.core.errors import FixedSetting, SettingError


@settings("kiln")
class KilnSettings:
    """A kiln."""

    heat: int = setting(900, doc="degrees", check=at_least(1), conf="kilnHeat", live=True)
    doors: tuple[str, ...] = setting(("front", "back"), doc="doors", conf="kilnDoors", live=True)
    lit: bool = setting(False, doc="whether it burns", conf="kilnLit", live=True)
    place: str = setting("yard", doc="where it stands", conf="kilnPlace")
    weight: int = setting(3, doc="tonnes", check=at_least(1), conf="kilnWeight")
    nickname: str = setting("", doc="of ours, without a key")


@settings("yard")
class YardSettings:
    """Where a kiln stands."""

    gate: str = setting("open", doc="its gate", conf="yardGate", live=True)


def test_lines_show_what_has_a_key():
    assert as_lines(KilnSettings(lit=True), YardSettings()).splitlines() == [
        "kilnHeat=900", "kilnDoors=front;back", "kilnLit=true", "kilnPlace=yard", "kilnWeight=3",
        "yardGate=open",
    ]  # fmt: skip


def test_what_is_shown_can_be_taken_back():
    hot = KilnSettings(heat=1200, doors=("side",), lit=True)
    lines = "".join(
        line for line in as_lines(hot).splitlines(True) if "Place" not in line and "We" not in line
    )
    texts = {"kilnHeat": "1200", "kilnDoors": "side", "kilnLit": "true"}
    assert changed([KilnSettings()], lines) == ([hot], texts)


def test_comments_and_blanks_are_left_out():
    before = KilnSettings()
    after, texts = changed([before], "# hotter\n\n  kilnHeat = 1000 \n")
    assert (after, texts, before.heat) == ([KilnSettings(heat=1000)], {"kilnHeat": "1000"}, 900)
    assert changed([before], "") == ([before], {})


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("colour=red", "colour is not a setting of this kiln"),
        ("haListenPort=1", "haListenPort has no effect on a kiln of mqframe"),
        ("nickname=Bertha", "nickname is not a setting of this kiln"),
        ("kilnHeat=warm", "kilnHeat=warm: must be a whole number"),
        ("kilnHeat=0", "kiln.heat = 0: must be at least 1"),
        ("kilnWeight=0", "kiln.weight = 0: must be at least 1"),
    ],
)
def test_unknown_keys_and_bad_values_change_nothing(line, says):
    with pytest.raises(SettingError, match=says) as caught:
        changed([KilnSettings()], f"kilnLit=true\n{line}", known=lambda: {"haListenPort"})
    assert not isinstance(caught.value, FixedSetting)


@pytest.mark.parametrize("line", ["kilnPlace=barn", "kilnWeight=4", "kilnHome=/x"])
def test_what_is_not_live_needs_a_restart(line):
    key = line.partition("=")[0]
    with pytest.raises(FixedSetting, match=f"{key} can only be changed by a restart"):
        changed([KilnSettings()], f"kilnLit=true\n{line}", protected=("kilnHome",))


def test_a_change_has_a_limited_length():
    with pytest.raises(SettingError, match="65537 characters of settings; at most 65536 are read"):
        changed([KilnSettings()], "#" + "x" * 65_536)


def test_lines_may_name_settings_of_several_objects():
    (kiln, yard), texts = changed([KilnSettings(), YardSettings()], "yardGate=shut\nkilnHeat=7\n")
    assert (kiln, yard) == (KilnSettings(heat=7), YardSettings(gate="shut"))
    assert texts == {"yardGate": "shut", "kilnHeat": "7"}


def test_what_else_is_true_goes_before_what_was_configured():
    lines = as_lines(YardSettings(), more={"yardGate": "locked", "yardAge": "9"})
    assert lines == "yardGate=locked\nyardAge=9\n"


def test_changes_of_an_earlier_run_are_made_again_and_those_that_cannot_be_are_named():
    saved = ChangedSettings({"kilnHeat": "7", "kilnPlace": "barn", "kilnLit": "often", "gone": "1"})
    groups, taken, lost = kept([KilnSettings()], saved)
    assert (groups, taken) == ([KilnSettings(heat=7)], {"kilnHeat": "7"})
    assert [reason.split()[0] for reason in lost] == ["kilnPlace", "kilnLit=often:", "gone"]


@settings("greeter")
class GreeterSettings:
    """What RocketMQ does not have."""

    words_max: int = setting(5, doc="words", check=at_least(1), live=True, was="broker.words_max")
    place: str = setting("door", doc="where")
    password: str = setting("", doc="hidden", secret=True, conf="greeterPassword")


@pytest.mark.parametrize("name", ["greeter.words_max", "broker.words_max"])
def test_what_rocketmq_has_not_goes_by_its_path_also_by_an_old_one(name: str) -> None:
    (made,), texts = changed([GreeterSettings()], f"{name}=7")
    assert (made, texts) == (GreeterSettings(words_max=7), {"greeter.words_max": "7"})


def test_a_setting_with_a_key_may_be_changed_by_its_path_and_is_kept_by_the_key() -> None:
    (made,), texts = changed([KilnSettings()], "kiln.heat=7")
    assert (made.heat, texts) == (7, {"kilnHeat": "7"})
    with pytest.raises(FixedSetting, match=r"kiln\.nickname can only be changed by a restart"):
        changed([KilnSettings()], "kiln.nickname=Bertha")


def test_two_names_of_one_setting_are_refused_unless_they_agree() -> None:
    with pytest.raises(SettingError, match=r"kilnHeat and kiln\.heat are the same setting"):
        changed([KilnSettings()], "kilnHeat=7\nkiln.heat=8")
    (made,), texts = changed([KilnSettings()], "kilnHeat=7\nkiln.heat=7")
    assert (made.heat, texts) == (7, {"kilnHeat": "7"})


def test_what_can_be_changed_is_shown_by_its_path_and_no_secret_at_all() -> None:
    lines = as_lines(GreeterSettings(password="abc"))
    assert lines == "greeter.words_max=5\ngreeterPassword=(secret)\n"
    origins = {"greeter.words_max": "a.toml", "greeter.place": "a.toml"}
    assert origins_of([GreeterSettings()], origins) == origins


def test_saved_changes_by_old_names_are_made_again() -> None:
    (made,), taken, lost = kept([GreeterSettings()], ChangedSettings({"broker.words_max": "9"}))
    assert (made.words_max, taken, lost) == (9, {"greeter.words_max": "9"}, [])
