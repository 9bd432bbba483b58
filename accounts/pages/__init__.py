"""What the pages of every room share: who looks, and forms that are sent once."""
