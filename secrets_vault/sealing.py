"""Sealing: anybody here may seal a value; only the holder of the private key (the gateway) can open one.

A sealed value is ``version(1) | ephemeral X25519 public key(32) | nonce(12) | AES-256-GCM ciphertext and tag``.
The AES key comes from HKDF-SHA256 over the shared secret, salted with both public keys. The associated data names
the account, the secret and its version, so that bytes moved to another row don't open.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from kernel.errors import DomainError

PUBLIC_NAME = "vault_public"
PRIVATE_NAME = "vault_private"
_FORMAT = b"\x01"
_KEY_BYTES = 32
_NONCE_BYTES = 12
_INFO = b"benchwright vault v1"


class SealBroken(Exception):
    """The sealed bytes don't open: another key, another row, or changed bytes. Nothing of them is told."""


@dataclass(frozen=True)
class Sealed:
    data: bytes
    key_id: str


def aad_for(account_id: int | str, secret_id: str, version: int) -> bytes:
    """The associated data of one version of one secret."""
    return f"{account_id}:{secret_id}:{version}".encode()


def ensure_keys(folder: Path) -> str:
    """Make the vault's key pair in ``folder`` unless it is there; the key's id. Safe to call from several processes."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    private_file = folder / PRIVATE_NAME
    if not private_file.exists():
        publish(private_file, X25519PrivateKey.generate().private_bytes_raw().hex(), 0o600)
    public = _private(private_file).public_key().public_bytes_raw()
    public_file = folder / PUBLIC_NAME
    if not public_file.exists():
        publish(public_file, public.hex(), 0o644)
    if _key_bytes(public_file) != public:
        raise DomainError("unavailable", "The vault's public key does not belong to its private key.")
    return key_id(public)


def key_id(public: bytes) -> str:
    return sha256(public).hexdigest()[:16]


def seal(plaintext: bytes, aad: bytes) -> Sealed:
    """Seal for the installation's public key (``settings.KEYS_DIR``). DomainError ``unavailable`` without one."""
    public_file = Path(settings.KEYS_DIR) / PUBLIC_NAME
    try:
        public = _key_bytes(public_file)
    except FileNotFoundError:
        raise DomainError(
            "unavailable", "The vault has no key yet. Start the server with `manage.py serve`, which makes one."
        ) from None
    ephemeral = X25519PrivateKey.generate()
    own = ephemeral.public_key().public_bytes_raw()
    key = _derive(ephemeral.exchange(X25519PublicKey.from_public_bytes(public)), own + public)
    nonce = os.urandom(_NONCE_BYTES)
    return Sealed(_FORMAT + own + nonce + AESGCM(key).encrypt(nonce, plaintext, aad), key_id(public))


class Opener:
    """Opens sealed values with the private key in ``private_key_file``. Built only in the proxy processes."""

    def __init__(self, private_key_file: Path | str) -> None:
        self._private = _private(Path(private_key_file))
        self._public = self._private.public_key().public_bytes_raw()
        self.key_id = key_id(self._public)

    def __repr__(self) -> str:
        return f"Opener({self.key_id})"

    def open(self, sealed: Sealed | bytes | memoryview, aad: bytes) -> bytes:
        """The plaintext. SealBroken where anything at all is not as it was sealed."""
        if isinstance(sealed, Sealed):
            if sealed.key_id != self.key_id:
                raise SealBroken("sealed for another key")
            data = sealed.data
        else:
            data = bytes(sealed)
        start = 1 + _KEY_BYTES
        own, nonce, box = data[1:start], data[start : start + _NONCE_BYTES], data[start + _NONCE_BYTES :]
        if data[:1] != _FORMAT or len(box) < 16:
            raise SealBroken("not a sealed value")
        try:
            key = _derive(self._private.exchange(X25519PublicKey.from_public_bytes(own)), own + self._public)
            return AESGCM(key).decrypt(nonce, box, aad)
        except (InvalidTag, ValueError):
            raise SealBroken("the sealed value does not open here") from None


def _derive(shared: bytes, salt: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=salt, info=_INFO).derive(shared)


def _key_bytes(file: Path) -> bytes:
    return bytes.fromhex(file.read_text().strip())


def _private(file: Path) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(_key_bytes(file))


def publish(file: Path, text: str, mode: int) -> None:
    """Write a file whole or not at all; whoever comes second leaves the first one's."""
    draft = file.with_name(f".{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "w") as out:
            out.write(text + "\n")
            out.flush()
            os.fsync(out.fileno())
        with suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink(missing_ok=True)
