"""Following dispatchers and how far they are behind."""
