import pytest

from mqframe.core.errors import SettingError
from mqframe.metrics.settings import MetricsSettings


def test_nothing_is_served_unless_a_port_is_named():
    assert MetricsSettings().port is None
    assert MetricsSettings(port=0).port == 0


@pytest.mark.parametrize("wrong", [{"port": 70_000}, {"series_max": 0}, {"scrape_seconds": 0}])
def test_bad_values_are_refused_by_name(wrong):
    with pytest.raises(SettingError, match=f"metrics.{next(iter(wrong))}"):
        MetricsSettings(**wrong)
