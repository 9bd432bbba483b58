"""The installation's own certificate authority: sandboxes trust it, and only the egress proxy can sign with it."""

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from secrets_vault.sealing import publish

PRIVATE_NAME = "egress_private"  # key and certificate, for the proxy
PUBLIC_NAME = "egress_public"  # the certificate, for sandboxes
YEARS = 20


def ensure_authority(folder: Path) -> None:
    """Make key and certificate where there are none. OSError where the folder can't be written."""
    private, public = folder / PRIVATE_NAME, folder / PUBLIC_NAME
    if not private.exists():
        publish(private, _made(), 0o600)
    if not public.exists():
        text = private.read_text()
        publish(public, text[text.index("-----BEGIN CERTIFICATE") :].strip(), 0o644)


def _made() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Benchwright egress of this installation")])
    now = datetime.datetime.now(datetime.UTC)
    usage = x509.KeyUsage(
        digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=365 * YEARS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return (private + certificate.public_bytes(pem)).decode().strip()
