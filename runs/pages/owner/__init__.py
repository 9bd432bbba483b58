"""What only the owner of a run does on its pages."""
