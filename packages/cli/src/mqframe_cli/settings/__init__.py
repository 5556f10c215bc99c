"""Where the settings of commands come from, and the plugins that these name."""
