"""The dispatcher: what a broker stores, as files of a lake."""
