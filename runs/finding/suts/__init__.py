"""Which model a request names, and at which provider: ``settling.read``."""
