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
NEXT_NAME = "vault_next"  # a private key that is laid ready and not in service
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
    if not private_files(folder):
        publish(folder / PRIVATE_NAME, X25519PrivateKey.generate().private_bytes_raw().hex(), 0o600)
    publics = [_public_of(_private(file)) for file in private_files(folder)]
    public_file = folder / PUBLIC_NAME
    if not public_file.exists():
        publish(public_file, publics[0].hex(), 0o644)
    if _key_bytes(public_file) not in publics:
        raise DomainError("unavailable", "The vault's public key does not belong to its private key.")
    return current_key_id(folder)


def private_files(folder: Path) -> list[Path]:
    """The private keys that are held here: the first one, later ones, and one that is not in service yet."""
    named = (folder / PRIVATE_NAME, *sorted(folder.glob(f"{PRIVATE_NAME}.*")), folder / NEXT_NAME)
    return [file for file in named if file.is_file()]


def current_key_id(folder: Path) -> str:
    """The id of the key that values are sealed for. FileNotFoundError where there is none."""
    return key_id(_key_bytes(folder / PUBLIC_NAME))


def make_next_key(folder: Path) -> str:
    """Lay a further private key beside those in service, once; its id. Nothing is sealed for it yet."""
    file = folder / NEXT_NAME
    if not file.exists():
        held = private_files(folder)
        publish(file, X25519PrivateKey.generate().private_bytes_raw().hex(), 0o600)
        if held and os.geteuid() == 0:  # root makes it for whoever holds the others
            os.chown(file, held[0].stat().st_uid, held[0].stat().st_gid)
    return key_id(_public_of(_private(file)))


def put_next_key_in_service(folder: Path) -> str | None:
    """From now on values are sealed for the key that ``make_next_key`` made; its id, None where there is none.

    Each step leaves a folder whose values all open, so it can be cut off anywhere and called again.
    """
    waiting = folder / NEXT_NAME
    if not waiting.exists():
        return None
    public = _public_of(_private(waiting))
    with suppress(FileExistsError):
        os.link(waiting, folder / f"{PRIVATE_NAME}.{key_id(public)}")
    draft = folder / f"{PUBLIC_NAME}.new"
    draft.unlink(missing_ok=True)
    publish(draft, public.hex(), 0o644)
    draft.replace(folder / PUBLIC_NAME)
    waiting.unlink()
    return key_id(public)


def drop_old_keys(folder: Path) -> list[str]:
    """Remove every private key but the one in service; their ids. The caller knows that nothing is sealed for them."""
    current = current_key_id(folder)
    ids = {file: key_id(_public_of(_private(file))) for file in private_files(folder)}
    if current not in ids.values():
        raise DomainError("unavailable", "The key in service is not held here: nothing was removed.")
    old = [file for file, name in ids.items() if name != current]
    for file in old:
        file.unlink()
    for file in private_files(folder):
        if file.name != PRIVATE_NAME and not (folder / PRIVATE_NAME).exists():
            file.rename(folder / PRIVATE_NAME)
    return [ids[file] for file in old]


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
    """Opens sealed values with the private keys beside ``private_key_file``. Built only in the proxy processes.

    A key that came into service after it was built is looked for in the folder when it is first needed.
    """

    def __init__(self, private_key_file: Path | str) -> None:
        self._folder = Path(private_key_file).parent
        self._keys = self._read()
        if not self._keys:
            raise FileNotFoundError(str(private_key_file))

    def _read(self) -> dict[str, X25519PrivateKey]:
        keys = {}
        for file in private_files(self._folder):
            with suppress(FileNotFoundError):  # put in service or dropped meanwhile
                key = _private(file)
                keys[key_id(_public_of(key))] = key
        return keys

    @property
    def key_ids(self) -> frozenset[str]:
        return frozenset(self._keys)

    def __repr__(self) -> str:
        return f"Opener({', '.join(sorted(self._keys))})"

    def open(self, sealed: Sealed | bytes | memoryview, aad: bytes) -> bytes:
        """The plaintext. SealBroken where anything at all is not as it was sealed."""
        wanted, data = (sealed.key_id, sealed.data) if isinstance(sealed, Sealed) else (None, bytes(sealed))
        for again in (False, True):
            if again:
                self._keys = self._read()
            for name, private in self._keys.items():
                if wanted is None or name == wanted:
                    with suppress(SealBroken):
                        return _opened(private, data, aad)
        raise SealBroken("the sealed value does not open here")


def _opened(private: X25519PrivateKey, data: bytes, aad: bytes) -> bytes:
    start = 1 + _KEY_BYTES
    own, nonce, box = data[1:start], data[start : start + _NONCE_BYTES], data[start + _NONCE_BYTES :]
    if data[:1] != _FORMAT or len(box) < 16:
        raise SealBroken("not a sealed value")
    try:
        key = _derive(private.exchange(X25519PublicKey.from_public_bytes(own)), own + _public_of(private))
        return AESGCM(key).decrypt(nonce, box, aad)
    except (InvalidTag, ValueError):
        raise SealBroken("the sealed value does not open here") from None


def _derive(shared: bytes, salt: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=salt, info=_INFO).derive(shared)


def _key_bytes(file: Path) -> bytes:
    return bytes.fromhex(file.read_text().strip())


def _public_of(private: X25519PrivateKey) -> bytes:
    return private.public_key().public_bytes_raw()


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
