"""A small HTTP client for one address: the model gateway on this sandbox's own loopback."""


def configure(port: int, model: str) -> None:
    pass
