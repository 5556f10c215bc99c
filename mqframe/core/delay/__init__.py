"""Delayed messages: levels, what a sender may ask for, and how it takes that back."""
