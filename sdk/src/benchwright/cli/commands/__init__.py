"""The commands, loaded one at a time by the tables that name them."""
