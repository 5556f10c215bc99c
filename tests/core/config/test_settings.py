import attrs
import pytest

from mqframe.core.config.settings import at_least, one_of, setting, settings, within
from mqframe.core.errors import SettingError


@settings("store")
class Store:
    """A store."""

    size: int = setting(10, doc="bytes", check=at_least(1), conf="mappedFileSize")
    part: float = setting(0.5, doc="share", check=within(0, 1))
    flush: str = setting("async", doc="when", check=one_of("async", "sync"))
    levels: list[str] = setting(factory=list, doc="levels")
    place: str = setting(doc="where")


def test_fields_have_defaults_and_stay_as_they_are() -> None:
    made = Store(place="here")
    assert (made.size, made.part, made.flush, made.levels, made.place) == (10, 0.5, "async", [], "here")
    assert Store(place="here").levels is not made.levels
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.size = 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"size": 0}, "store.size = 0: must be at least 1"),
        ({"part": 1.5}, "store.part = 1.5: must be within 0 and 1"),
        ({"flush": "never"}, "store.flush = 'never': must be one of async, sync"),
    ],
)
def test_bad_values_name_the_setting(values, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        Store(place="here", **values)
    assert str(caught.value) == message


def test_positional_values_are_refused() -> None:
    with pytest.raises(TypeError):
        Store(10)


def test_fields_say_what_they_mean() -> None:
    field = attrs.fields(Store).size
    assert field.metadata["doc"] == "bytes"
    assert field.metadata["conf"] == "mappedFileSize"
    assert Store.SECTION == "store"


def test_no_secret_is_live() -> None:
    with pytest.raises(ValueError, match="a secret cannot be live"):
        setting("", doc="hidden", secret=True, live=True)
