"""`mqframe message send`: what is read, how fast it is sent, and what is said of it."""
