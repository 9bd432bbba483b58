"""Flags: what a person should look at before believing a score. They only show; they change no score."""
