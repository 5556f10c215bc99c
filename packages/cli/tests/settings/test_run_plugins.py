"""The plugins of the command that runs."""

from mqframe_cli.settings.run_plugins import PLUGINS_OF_RUN, plugin_manager

from mqframe.hooks.manager import PluginManager


def test_a_command_has_one_manager_and_others_get_a_new_one() -> None:
    run = PluginManager()
    token = PLUGINS_OF_RUN.set(run)
    try:
        assert plugin_manager() is plugin_manager() is run
    finally:
        PLUGINS_OF_RUN.reset(token)
    assert plugin_manager() is not plugin_manager()
