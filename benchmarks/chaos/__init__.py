"""A whole installation under random kills, and what is left to say of its runs afterwards."""
