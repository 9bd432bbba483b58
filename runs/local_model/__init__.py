"""A small real model on this machine, for trying things out: provider ``local``."""
