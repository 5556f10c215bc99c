"""Frames, codes and bodies of the remoting protocol: bytes to values and back."""
