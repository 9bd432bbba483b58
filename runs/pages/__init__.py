"""What the pages show, as plain dicts for the templates. The views and the socket are the doors."""
