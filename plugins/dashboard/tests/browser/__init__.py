"""Pages in a real browser. A package, so that the browser ends with the last test of this folder."""
