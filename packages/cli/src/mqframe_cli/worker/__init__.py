"""`mqframe worker`: consumers of an application, run in supervised processes."""
