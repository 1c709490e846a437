"""Generated and hostile input for what `tests/contract/ingest/documents/test_pdf.py` tests by example."""

import io
import random

import pytest
from pypdf import PdfReader, PdfWriter

from sidecar.ingest.errors import IngestError, TooLarge, UnreadableDocument
from tests.contract.ingest.documents.test_pdf import drawn, made, read


def encrypted(password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(made())))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def test_password_is_asked_for_only_if_there_is_one() -> None:
    assert read("a.pdf", encrypted("")).title == "Harbour guide"
    with pytest.raises(UnreadableDocument, match=r"a\.pdf: the PDF is encrypted with a password\. .*decrypt"):
        read("a.pdf", encrypted("secret"))


def test_any_damage_raises_only_an_ingest_error() -> None:
    dice, whole, outcomes = random.Random(7), made(), {"read": 0, "refused": 0}
    for _ in range(80):
        data = bytearray(whole)
        for _ in range(dice.choice([1, 5, 40])):
            at = dice.randrange(len(data))
            data[at : at + dice.randrange(12)] = dice.randbytes(dice.randrange(12))
        try:
            read("a.pdf", bytes(data))
            outcomes["read"] += 1
        except IngestError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 5


def test_decompression_bomb_is_refused_before_it_unpacks() -> None:
    with pytest.raises(TooLarge, match="unpacks to more than is allowed"):
        read("a.pdf", drawn(b" " * 60_000_000))
