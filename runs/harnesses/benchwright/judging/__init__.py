"""Scorers with a judge model: the host asks it, and believes its word only as far as the schema goes."""
