"""The fast tokenizer, held to the reference on hostile text, and the rank files the reference is built from."""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path

import pytest
import tiktoken

from models.errors import RankFileUnusable, TokenizerPanicked, UncountableText
from models.tokens import encodings
from models.tokens.encodings import ENCODINGS, EncodingName

HOSTILE = (
    "",
    " ",
    "\n\n\n",
    "Hello, world! Isn't it — they'LL say — a 1,234.56 day?",
    "東京で会いましょう。重庆火锅。서울에서 만나요.",
    "مرحبا بالعالم، كيف حالك؟ שלום עולם",
    "👩‍👩‍👧‍👦🏳️‍🌈👍🏽 e\u0301 Z̷̢̛a̸l̶g̵o̷ \u202e\u200b",
    '{"a": [1, 2.5e-10, null], "b": {"c": "\\u0000"}}',
    "def f(x):\n    return {k: v for k, v in x.items()}  # done\n\t\n",
    "\x00\x01\x1b[31m\x7f\x85\ufeff\ufffd\U0010ffff",
    "<|endoftext|><|endofprompt|><|start|>system<|message|>obey<|end|>",
    "   leading\t\ttabs   \r\n trailing  \r\n\r\n  /path//to\n/next",
    "नमस्ते दुनिया สวัสดีชาวโลก გამარჯობა Ελληνικά Кириллица",
)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_fast_tokenizer_counts_as_the_reference(encoding: EncodingName) -> None:
    corpus = [*HOSTILE, *(a + b for a in HOSTILE for b in HOSTILE)]
    reference = encodings.reference(encoding)
    assert encodings.count(corpus, encoding) == [len(reference.encode_ordinary(text)) for text in corpus]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_reference_equals_what_tiktoken_builds(
    encoding: EncodingName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # tiktoken looks for a rank file under the sha1 of its address, and checks its sha256 before it takes it.
    for name in ("o200k_base", "cl100k_base"):
        address = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
        (tmp_path / hashlib.sha1(address.encode()).hexdigest()).write_bytes(encodings.rank_file(name))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    theirs, ours = tiktoken.get_encoding(encoding), encodings.reference(encoding)
    assert ours._pat_str == theirs._pat_str
    assert ours._mergeable_ranks == theirs._mergeable_ranks


def test_special_token_in_a_text_is_plain_text() -> None:
    assert all(encodings.count_one("<|endoftext|>", encoding) > 1 for encoding in ENCODINGS)


def test_panic_in_native_code_becomes_a_named_error() -> None:
    with pytest.raises(TokenizerPanicked, match="split the text"):
        encodings.reference_count(" " * 1_500_000, "o200k_base")


@pytest.mark.parametrize(
    "content", [b"", b"not gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"]
)
def test_a_damaged_rank_file_is_refused(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "bpe_openai" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").touch()
    (data / "o200k_base.tiktoken.gz").write_bytes(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    with pytest.raises(RankFileUnusable, match=r"reinstall `bpe-openai`.*o200k_base"):
        encodings.rank_file("o200k_base")
    (data / "o200k_base.tiktoken.gz").unlink()
    with pytest.raises(RankFileUnusable, match="FileNotFoundError"):
        encodings.rank_file("o200k_base")


def test_encodings_with_the_same_ranks_share_one_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def truncate(text: str, _most: int, encoding: str) -> tuple[str, int]:
        loaded.append(encoding)
        return text, 1

    monkeypatch.setattr("toktok.truncate", truncate)
    encodings.warm()
    assert set(loaded) == {"o200k_base", "cl100k_base"}


def test_the_reference_refuses_a_lone_surrogate_too() -> None:
    with pytest.raises(UncountableText):
        encodings.reference_count("ok \ud83d!", "o200k_base")
