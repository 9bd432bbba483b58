"""Walls between the parts of one machine: users, ways, and roles of the database."""
