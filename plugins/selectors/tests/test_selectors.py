import pytest
from mqframe_selectors import MachineRoomSelector, MonotonicSelector, RandomSelector

from mqframe.hooks.manager import PluginManager


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("random", RandomSelector, {}),
        ("machine_room", MachineRoomSelector, {"rooms": ["a"]}),
        ("monotonic", MonotonicSelector, {}),
    ],
)
def test_each_is_found_by_its_name(name: str, kind: type, options: dict[str, object]) -> None:
    assert type(PluginManager().create("selector", name, options)) is kind
