from __future__ import annotations

import pytest

from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import SettingError


@pytest.mark.parametrize("name", ["", "a/b", "..", "x" * 201, "grün"])
@pytest.mark.parametrize("which", ["name", "cluster"])
def test_a_name_that_its_own_topics_could_not_have_is_a_bad_setting(which, name):
    with pytest.raises(SettingError, match=rf"broker\.{which} = .*: must be 1 to 200 ASCII characters"):
        BrokerSettings(**{which: name})


@pytest.mark.parametrize(
    ("port", "which"), [(10909, r"broker\.port - 2 \(broker\.vip_port\)"), (10911, r"broker\.port")]
)
def test_operators_have_a_port_that_the_broker_has_not_taken_for_others(port, which):
    with pytest.raises(
        SettingError, match=rf"broker\.operator_port = {port} is {which} as well: choose another"
    ):
        BrokerSettings(operator_port=port)


def test_operators_may_have_the_port_below_where_the_broker_leaves_it():
    assert BrokerSettings(operator_port=10909, vip_port=False).operator_port == 10909
    assert BrokerSettings(port=0, operator_port=0).operator_port == 0
