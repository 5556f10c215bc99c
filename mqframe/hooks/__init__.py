"""Everything that can be plugged in: specifications, interfaces, and the manager that finds plugins."""
