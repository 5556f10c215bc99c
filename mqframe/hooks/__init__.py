"""The plugin API: hook specifications, interfaces of plugins, and the manager that finds plugins."""
