"""Connections as launches need them: setting one up, and trying it out. The rows are the vault's."""
