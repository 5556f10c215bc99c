from __future__ import annotations

import pytest

from mqframe.core.errors import SettingError
from mqframe.nameserver.settings import NameServerSettings


def test_operators_have_a_port_of_their_own():
    with pytest.raises(SettingError, match=r"nameserver\.operator_port = 9876 is nameserver\.port as well"):
        NameServerSettings(operator_port=9876)
    assert NameServerSettings(port=0, operator_port=0).operator_port == 0
