"""What the option for signing in means."""

from __future__ import annotations

import pytest
from mqframe_dashboard import create_app
from mqframe_dashboard.changes.assembly import CHANGES, open_desk

from mqframe.core.errors import PluginError, SettingError
from mqframe.hooks.manager import PluginManager

NAMESERVER = "127.0.0.1:9876"


def test_without_it_nobody_may_and_no_page_is_there():
    assert open_desk("", None, {}) is None
    paths = {route.path for route in create_app(NAMESERVER).routes}
    assert not paths.intersection({"/sign-in", "/sign-out", *(each.path for each in CHANGES)})
    paths = {route.path for route in create_app(NAMESERVER, sign_in="cluster").routes}
    assert paths.issuperset({"/sign-in", "/sign-out", *(each.path for each in CHANGES)})


@pytest.mark.parametrize("sign_in", ["yes", "file:", "users.txt", "cluster:x", ":"])
def test_other_words_are_refused(sign_in):
    with pytest.raises(SettingError, match="must be cluster, or file: and a path"):
        create_app(NAMESERVER, sign_in=sign_in)


def test_users_of_a_cluster_need_the_plugin_that_signs():
    plugins = PluginManager()
    plugins.block("mqframe-plugin-acl")
    with pytest.raises(PluginError, match="mqframe-plugin-acl"):
        create_app(NAMESERVER, sign_in="cluster", plugins=plugins)


def test_each_change_has_a_path_of_its_own():
    assert len({each.path for each in CHANGES}) == len(CHANGES)
