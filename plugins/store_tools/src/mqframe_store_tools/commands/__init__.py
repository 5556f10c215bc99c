"""`mqframe store`: files of a broker that does not run."""
