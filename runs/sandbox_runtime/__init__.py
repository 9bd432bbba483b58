"""What travels into a sandbox. Standard library only: nothing here may import the server."""
