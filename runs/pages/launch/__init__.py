"""The launch page: what was typed, what it means, and whose key would pay."""
