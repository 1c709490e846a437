"""Which keys are trusted: what a file or a set may hold, when it is read again, and what is kept when it breaks."""

from __future__ import annotations

import base64
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from sidecar.rpc.auth.devkey import DEV_ISSUER, DEV_KEY_FILE, dev_key, mint, read_dev_key
from sidecar.rpc.auth.identity import Grant, IdentitySettings, Role
from sidecar.rpc.auth.keys import (
    MAX_KEY_BYTES,
    FileKeys,
    PublicKey,
    parse_jwks,
    parse_pem,
    public_key,
    read_key_file,
)
from sidecar.rpc.auth.tokens import TokenRules, TokenVerifier
from sidecar.runtime.errors import DevKeyUnsafe, DevTokensOff, InvalidArgument, KeyFileInvalid, TokenMalformed

ED = ed25519.Ed25519PrivateKey.generate()
EC = ec.generate_private_key(ec.SECP256R1())
GRANT = Grant("acme", ("ann",), "planner")


class Watch:
    """A clock that the test winds."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def rsa_key(bits: int) -> rsa.RSAPublicKey:
    """Return a public key of that length; looking for the primes of a real one would take longer than all tests here."""
    return rsa.RSAPublicNumbers(65537, 2 ** (bits - 1) + 1).public_key()


RSA = rsa_key(2048)


def pem(key: Any) -> bytes:
    public = key if isinstance(key, rsa.RSAPublicKey) else key.public_key()
    written: bytes = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return written


def private_pem(key: Any) -> bytes:
    private: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private


def jwk(key: Any, kid: str | None, **fields: Any) -> dict[str, Any]:
    algorithm: Any = jwt.algorithms.ECAlgorithm
    if isinstance(key, ed25519.Ed25519PublicKey):
        algorithm = jwt.algorithms.OKPAlgorithm
    if isinstance(key, rsa.RSAPublicKey):
        algorithm = jwt.algorithms.RSAAlgorithm
    return {**json.loads(algorithm.to_jwk(key)), **({"kid": kid} if kid is not None else {}), **fields}


def jwks(*entries: Any) -> bytes:
    return json.dumps({"keys": list(entries)}).encode()


def watched(watch: Watch, *paths: Path) -> FileKeys:
    return FileKeys(paths, monotonic_s=watch)


@pytest.mark.parametrize(
    ("key", "algorithms"), [(ED, {"EdDSA"}), (EC, {"ES256"}), (RSA, {"RS256", "PS256"})], ids=["ed", "ec", "rsa"]
)
def test_a_key_allows_the_algorithms_of_its_kind_only(key: Any, algorithms: set[str]) -> None:
    assert parse_pem(pem(key), "k").algorithms == algorithms


@pytest.mark.parametrize(
    "text",
    [
        pem(ec.generate_private_key(ec.SECP384R1())),
        pem(rsa_key(1024)),
        pem(ed448.Ed448PrivateKey.generate()),
        b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        b"",
    ],
)
def test_weak_foreign_and_broken_pem_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"is|public"):
        parse_pem(text, "k")


def test_private_key_is_reported_as_such() -> None:
    with pytest.raises(ValueError, match="public half"):
        parse_pem(private_pem(ED), "k")


def test_key_set_keeps_usable_keys_and_drops_the_rest() -> None:
    text = jwks(
        jwk(ED.public_key(), "ed"),
        jwk(RSA, "rsa", alg="PS256", use="sig"),
        jwk(EC.public_key(), "for-encryption", use="enc"),
        jwk(EC.public_key(), "for-signing", key_ops=["sign"]),
        jwk(EC.public_key(), None),
        jwk(ED.public_key(), "wrong-alg", alg="HS256"),
        jwk(ED.public_key(), "mismatch", alg="RS256"),
        {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "shared", "alg": "EdDSA"},
        {"kty": "RSA", "n": "AQ", "kid": "half"},
        {"kty": "OKP", "crv": "Ed25519", "x": 7, "kid": "typed"},
        "text",
    )
    found = parse_jwks(text)
    assert set(found) == {"ed", "rsa"}
    assert found["rsa"].algorithms == {"PS256"}


def test_private_key_in_a_set_is_dropped() -> None:
    private = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(ED))
    found = parse_jwks(jwks({**private, "kid": "private"}, jwk(ED.public_key(), "public")))
    assert set(found) == {"public"}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b'{"keys": {}}',
        b'{"keys": []}',
        b"\xff",
        b"[" * 100_000,
        jwks(*[jwk(ED.public_key(), str(n)) for n in range(101)]),
        jwks(jwk(ED.public_key(), "twice"), jwk(EC.public_key(), "twice")),
    ],
    ids=["empty", "list", "object", "no-list", "no-keys", "bytes", "deep", "too-many", "twice"],
)
def test_document_that_is_no_key_set_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_jwks(text)


async def test_key_id_of_a_pem_file_is_its_name(tmp_path: Path) -> None:
    (tmp_path / "2027-01.pem").write_bytes(pem(ED))
    (tmp_path / "set.json").write_bytes(jwks(jwk(EC.public_key(), "ec-1")))
    source = watched(Watch(), tmp_path)
    assert await source.find("2027-01") is not None
    assert await source.find("ec-1") is not None
    assert await source.find("other") is None


async def test_a_replaced_file_is_read_again_within_a_second(tmp_path: Path) -> None:
    watch, path = Watch(), tmp_path / "keys.json"
    path.write_bytes(jwks(jwk(ED.public_key(), "old")))
    source = watched(watch, path)
    draft = tmp_path / "draft"
    draft.write_bytes(jwks(jwk(ED.public_key(), "new")))
    draft.replace(path)
    watch.now_s = 0.9
    assert await source.find("old") is not None
    watch.now_s = 1.0
    assert await source.find("old") is None
    assert await source.find("new") is not None


async def test_an_unchanged_file_keeps_the_same_key_objects(tmp_path: Path) -> None:
    watch, path = Watch(), tmp_path / "k.pem"
    path.write_bytes(pem(ED))
    source = watched(watch, path)
    before = await source.find("k")
    watch.now_s = 60.0
    assert await source.find("k") is before


@pytest.mark.parametrize("content", [b"half a fi", b"", None], ids=["broken", "empty", "gone"])
async def test_unreadable_change_keeps_the_last_good_keys(tmp_path: Path, content: bytes | None) -> None:
    watch, path = Watch(), tmp_path / "k.pem"
    path.write_bytes(pem(ED))
    source = watched(watch, path)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    watch.now_s = 5.0
    assert await source.find("k") is not None
    path.write_bytes(pem(EC))
    watch.now_s = 10.0
    found = await source.find("k")
    assert found is not None
    assert found.algorithms == {"ES256"}


async def test_change_that_could_not_be_read_is_read_once_it_can_be(tmp_path: Path) -> None:
    """As when a file is replaced first and gets its owner then: neither its time nor its size changes any more."""
    watch, path = Watch(), tmp_path / "k.pem"
    refused: list[str] = []

    def read(file: Path) -> list[PublicKey]:
        if refused:
            raise PermissionError(13, refused[0])
        return read_key_file(file)

    path.write_bytes(pem(ED))
    source = FileKeys([path], monotonic_s=watch, read=read)
    path.write_bytes(pem(EC))
    refused.append("Permission denied")
    watch.now_s = 5.0
    kept = await source.find("k")
    refused.clear()
    watch.now_s = 10.0
    found = await source.find("k")
    assert kept is not None
    assert found is not None
    assert kept.algorithms == {"EdDSA"}
    assert found.algorithms == {"ES256"}


async def test_key_removed_from_a_directory_is_no_longer_trusted(tmp_path: Path) -> None:
    watch = Watch()
    for name in ("a", "b"):
        (tmp_path / f"{name}.pem").write_bytes(pem(ED))
    source = watched(watch, tmp_path)
    (tmp_path / "a.pem").unlink()
    watch.now_s = 2.0
    assert await source.find("a") is None
    assert await source.find("b") is not None


@pytest.mark.parametrize("content", [None, b"", b"{}", private_pem(ED), b" " * (MAX_KEY_BYTES + 1)])
def test_server_does_not_start_with_unusable_key_files(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "k.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(KeyFileInvalid, match=r"k\.pem"):
        watched(Watch(), path)


def test_server_does_not_start_with_an_empty_directory_or_a_duplicate_key_id(tmp_path: Path) -> None:
    with pytest.raises(KeyFileInvalid):
        watched(Watch(), tmp_path)
    (tmp_path / "one.pem").write_bytes(pem(ED))
    (tmp_path / "set.json").write_bytes(jwks(jwk(EC.public_key(), "one")))
    with pytest.raises(KeyFileInvalid):
        watched(Watch(), tmp_path)


def test_dev_key_is_made_once_and_private(tmp_path: Path) -> None:
    data_dir = tmp_path / "new" / "data"
    first = dev_key(data_dir)
    assert (data_dir / DEV_KEY_FILE).stat().st_mode & 0o777 == 0o600
    passable = 0o755 if os.geteuid() == 0 else 0o700  # root's Postgres runs as another user
    assert data_dir.stat().st_mode & 0o777 == passable
    assert private_pem(dev_key(data_dir)) == private_pem(first)
    assert [path.name for path in data_dir.iterdir()] == [DEV_KEY_FILE]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_dev_key_that_others_could_write_is_refused(tmp_path: Path, mode: int) -> None:
    dev_key(tmp_path)
    (tmp_path / DEV_KEY_FILE).chmod(mode)
    with pytest.raises(DevKeyUnsafe, match="chmod 600"):
        dev_key(tmp_path)


@pytest.mark.parametrize("content", [b"", b"garbage", private_pem(EC), pem(ED)])
def test_dev_key_file_with_other_content_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / DEV_KEY_FILE
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(DevKeyUnsafe):
        dev_key(tmp_path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("is_dangling", [True, False])
def test_a_dev_key_behind_a_link_is_refused(tmp_path: Path, is_dangling: bool) -> None:
    if not is_dangling:
        dev_key(tmp_path / "elsewhere")
    (tmp_path / DEV_KEY_FILE).symlink_to(tmp_path / "elsewhere" / DEV_KEY_FILE)
    with pytest.raises(DevKeyUnsafe):
        dev_key(tmp_path)


def test_data_directory_that_cannot_be_created_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DevKeyUnsafe, match=r"cannot be created .*; set SIDECAR_DATA_DIR"):
        dev_key(tmp_path / "file" / "data")


async def test_token_minted_with_the_dev_key_is_accepted(tmp_path: Path) -> None:
    settings = IdentitySettings(data_dir=tmp_path)
    token = mint(GRANT, settings, now_s=1_800_000_000.7, token_id="t-1")
    source = FileKeys([tmp_path / DEV_KEY_FILE], monotonic_s=Watch(), read=read_dev_key)
    verifier = TokenVerifier(TokenRules("context-sidecar", frozenset({DEV_ISSUER})), source)
    claims = await verifier.verify(token, 1_800_000_000.7)
    assert claims.identity.token_id == "t-1"
    assert claims.expires_s - claims.issued_s == 3600
    admin = mint(Grant("acme", role=Role.ADMIN), settings, now_s=1_800_000_000, token_id="t-2")
    assert (await verifier.verify(admin, 1_800_000_000)).identity.owner_ids is None


def segment(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("header", "payload"),
    [
        ("", '"tenant": "evil"'),
        ("", '"\\u0074enant": "acme"'),
        ("", '"more": [{"a": 1, "a": 1}]'),
        ('"kid": "other"', ""),
    ],
)
async def test_token_whose_json_repeats_a_name_is_refused(tmp_path: Path, header: str, payload: str) -> None:
    key = dev_key(tmp_path)
    source = FileKeys([tmp_path / DEV_KEY_FILE], monotonic_s=Watch(), read=read_dev_key)
    verifier = TokenVerifier(TokenRules("context-sidecar", frozenset({DEV_ISSUER})), source)
    minted = mint(GRANT, IdentitySettings(data_dir=tmp_path), now_s=1_800_000_000, token_id="t")

    def signed(*more: str) -> str:
        whole = [base64.urlsafe_b64decode(part + "==").decode() for part in minted.split(".")[:2]]
        said = [f"{{{one}, {text[1:]}" if one else text for one, text in zip(more, whole, strict=True)]
        message = ".".join(map(segment, said))
        return f"{message}.{base64.urlsafe_b64encode(key.sign(message.encode())).decode().rstrip('=')}"

    assert (await verifier.verify(signed("", ""), 1_800_000_000)).identity.agent_id == "planner"
    with pytest.raises(TokenMalformed, match="repeats"):
        await verifier.verify(signed(header, payload), 1_800_000_000)


async def test_replaced_dev_key_is_picked_up_by_a_running_server(tmp_path: Path) -> None:
    watch = Watch()
    dev_key(tmp_path)
    source = FileKeys([tmp_path / DEV_KEY_FILE], monotonic_s=watch, read=read_dev_key)
    (tmp_path / DEV_KEY_FILE).unlink()
    fresh = public_key("", dev_key(tmp_path).public_key())
    watch.now_s = 1.0
    kid = read_dev_key(tmp_path / DEV_KEY_FILE)[0].kid
    found = await source.find(kid)
    assert found is not None
    assert found.material == fresh.material


@pytest.mark.parametrize(
    "configured", [{"jwks_url": "https://issuer.example/jwks"}, {"key_files": (Path("/etc/keys"),)}]
)
def test_dev_tokens_are_refused_if_real_keys_are_configured(tmp_path: Path, configured: dict[str, Any]) -> None:
    with pytest.raises(DevTokensOff):
        mint(GRANT, IdentitySettings(data_dir=tmp_path, **configured), now_s=0, token_id="t")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lifetime_s", [0, -1, 3601])
def test_dev_token_lives_at_most_an_hour(tmp_path: Path, lifetime_s: int) -> None:
    with pytest.raises(InvalidArgument) as caught:
        mint(GRANT, IdentitySettings(data_dir=tmp_path), now_s=0, token_id="t", lifetime_s=lifetime_s)
    assert caught.value.field == "lifetime_s"


def test_dev_token_without_a_caller_is_refused_before_a_key_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        mint(Grant("acme"), IdentitySettings(data_dir=tmp_path), now_s=0, token_id="t")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("attempt", range(5))
def test_concurrent_makers_of_the_dev_key_get_the_same_one(tmp_path: Path, attempt: int) -> None:
    start = Barrier(8)

    def make(_: int) -> bytes:
        start.wait()
        return private_pem(dev_key(tmp_path))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(make, range(8)))) == 1
    assert [path.name for path in tmp_path.iterdir()] == [DEV_KEY_FILE]
