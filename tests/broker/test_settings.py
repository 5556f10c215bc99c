from __future__ import annotations

import pytest

from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import SettingError


@pytest.mark.parametrize("name", ["", "a/b", "..", "x" * 201, "grün"])
@pytest.mark.parametrize("which", ["name", "cluster"])
def test_a_name_that_its_own_topics_could_not_have_is_a_bad_setting(which, name):
    with pytest.raises(SettingError, match=rf"broker\.{which} = .*: must be 1 to 200 ASCII characters"):
        BrokerSettings(**{which: name})
