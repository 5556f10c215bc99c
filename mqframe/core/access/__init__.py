"""Users, policies and their bodies."""
