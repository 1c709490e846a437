"""A certificate authority made for one test, and the names on its certificates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Authority:
    """A certificate authority made for one test."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._sign("authority", self.key, [], is_authority=True)

    def issue(
        self, *names: x509.GeneralName, hours: tuple[int, int] = (-1, 1), extra: x509.ExtensionType | None = None
    ) -> tuple[bytes, bytes]:
        """Return key and certificate, as PEM, for these names; valid from and to so many hours from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign("agent.example", key, names, is_authority=False, hours=hours, extra=extra)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return pem, certificate.public_bytes(Encoding.PEM)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def _sign(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        names: Sequence[x509.GeneralName],
        *,
        is_authority: bool,
        hours: tuple[int, int] = (-1, 1),
        extra: x509.ExtensionType | None = None,
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + timedelta(hours=hours[0]))
            .not_valid_after(now + timedelta(hours=hours[1]))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        if extra is not None:
            builder = builder.add_extension(extra, critical=False)
        return builder.sign(self.key, hashes.SHA256())


def uri(name: str) -> x509.GeneralName:
    return x509.UniformResourceIdentifier(name)
