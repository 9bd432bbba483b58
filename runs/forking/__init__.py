"""Forks: a run made of another one, with another scorer or from an earlier phase on, and what that changed."""
