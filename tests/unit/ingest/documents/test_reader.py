"""Reading documents: kinds, encodings, limits and the walk of a tree."""

import codecs
import os
from pathlib import Path
from random import Random

import pytest

from sidecar.ingest.documents.document import Content, DocumentPart, ReadLimits
from sidecar.ingest.documents.reader import media_type_of, read
from sidecar.ingest.errors import (
    InvalidLimits,
    TooLarge,
    UnreadableDocument,
    UnreadablePath,
    UnsupportedFormat,
)
from sidecar.ingest.walk import documents_under


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.md", b"x", "text/markdown"),
        ("A.MARKDOWN", b"x", "text/markdown"),
        ("dir\\a.txt", b"<html>", "text/plain"),
        ("a.htm", b"x", "text/html"),
        ("a.txt", b"%PDF-1.7", "application/pdf"),
        ("about-pdf.md", b"Files begin with %PDF-1.7", "text/markdown"),
        ("README", b"words", "text/plain"),
        ("index", b"\n<!DOCTYPE html><p>", "text/html"),
    ],
)
def test_kind_is_chosen_by_magic_bytes_then_name_then_content(name: str, data: bytes, media_type: str) -> None:
    assert media_type_of(name, data) == media_type


@pytest.mark.parametrize(("name", "media_type"), [("a.csv", "text/csv"), ("a.TSV", "text/tab-separated-values")])
def test_csv_is_one_table_also_across_blank_lines(name: str, media_type: str) -> None:
    document = read(name, b"sku,price\r\nC-12,29.90\r\n\r\nB-1,22.00\r\n")
    assert document.media_type == media_type
    assert [(block.kind, block.text) for block in document.blocks] == [("table", "sku,price\nC-12,29.90\n\nB-1,22.00")]


@pytest.mark.parametrize(
    ("name", "data"), [("a.docx", b"PK"), ("a.png", b"\x89PNG"), ("a.zip", b"PK"), ("core", b"\x7fELF\0")]
)
def test_unsupported_kind_is_refused_with_the_file_and_the_supported_ones(name: str, data: bytes) -> None:
    with pytest.raises(UnsupportedFormat, match=rf"^{name}: .*Supported are Markdown \(\.md\).*PDF \(\.pdf\)"):
        read(name, data)


def test_plain_text_is_split_at_blank_lines_only() -> None:
    document = read("notes.txt", b"One line\nand its next.\n \t\n\n  Another.\r\n\r\nLast.\n")
    assert [block.text for block in document.blocks] == ["One line\nand its next.", "Another.", "Last."]
    assert document.title == "notes"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_with_or_without_a_byte_order_mark_is_read(encoding: str) -> None:
    assert read("a.txt", "Größe 港口 👩‍👩‍👧".encode(encoding)).text == "Größe 港口 👩‍👩‍👧"
    assert read("a.txt", codecs.BOM_UTF16_BE + "Größe".encode("utf-16-be")).text == "Größe"


def test_undecodable_bytes_are_refused_with_the_first_bad_one() -> None:
    with pytest.raises(UnreadableDocument, match=r"a\.txt: byte 2 is not valid utf-8; save the file as UTF-8"):
        read("a.txt", b"Gr\xc3\xf6\xdfe")
    with pytest.raises(UnreadableDocument, match="NUL bytes"):
        read("a.md", b"\x00\x01\x02")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
def test_empty_file_has_no_blocks_and_a_note(name: str) -> None:
    assert read(name, b"").content is Content.EMPTY
    assert read(name, codecs.BOM_UTF8 + b" \n\n").content is Content.EMPTY
    assert read(name, b"Words.").content is Content.TEXT


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (ReadLimits(document_bytes=10), "11 bytes, the limit is 10"),
        (ReadLimits(text_chars=10), "11 characters, the limit is 10"),
        (ReadLimits(blocks=1), "more than 1 paragraphs"),
    ],
)
def test_limit_error_names_the_file_the_size_and_the_limit(limits: ReadLimits, said: str) -> None:
    with pytest.raises(TooLarge, match=rf"a\.txt: it (has|holds) {said}"):
        read("a.txt", b"Words\n\nmore", limits)


def test_limits_below_one_are_refused() -> None:
    with pytest.raises(InvalidLimits, match="ReadLimits: pages is 0"):
        ReadLimits(pages=0)


def test_long_headings_and_titles_are_cut_in_paths_and_whole_in_the_text() -> None:
    document = read("a.md", b"# " + b"word " * 1000)
    assert len(document.blocks[0].heading_path[0]) <= 120
    assert len(document.title) <= 300
    assert len(document.text) == 4999


def test_error_can_be_printed_for_a_name_that_no_terminal_can_show() -> None:
    with pytest.raises(UnsupportedFormat) as caught:
        read("bad\udcff\0.bin", b"")
    str(caught.value).encode()


def tree(root: Path, *names: str) -> Path:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return root


def found(path: Path) -> list[str]:
    return [file.relative_to(path).as_posix() for file in documents_under(path)]


def test_a_tree_is_walked_in_order_without_hidden_version_control_and_cache_files(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "b.md",
        "d/1",
        "a/z.md",
        "e/1",
        "c/1",
        "a/b/c.txt",
        ".hidden.md",
        ".git/config",
        "CVS/x",
        "node_modules/x.md",
        "__pycache__/x",
    )
    assert found(tmp_path) == ["b.md", "a/z.md", "a/b/c.txt", "c/1", "d/1", "e/1"]


def test_links_never_lead_out_of_the_tree_or_in_circles(tmp_path: Path) -> None:
    tree(tmp_path, "in/a.md", "out/secret.md")
    inside = tmp_path / "in"
    (inside / "out").symlink_to(tmp_path / "out")
    (inside / "self").symlink_to(inside)
    (inside / "secret.md").symlink_to(tmp_path / "out" / "secret.md")
    (inside / "same.md").symlink_to(inside / "a.md")
    (inside / "gone.md").symlink_to(inside / "nowhere.md")
    (inside / "unspeakable.md").symlink_to("x" * 300)
    os.mkfifo(inside / "pipe.md")
    assert found(inside) == ["a.md", "same.md"]


def test_a_single_file_is_its_own_walk_and_a_missing_path_is_named(tmp_path: Path) -> None:
    tree(tmp_path, "a.md")
    assert list(documents_under(tmp_path / "a.md")) == [tmp_path / "a.md"]
    with pytest.raises(UnreadablePath, match=r"nowhere: there is no such file or directory"):
        list(documents_under(tmp_path / "nowhere"))


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_binary_behind_a_byte_order_mark_is_not_text(mark: str) -> None:
    bom = codecs.BOM_UTF16_LE if mark == "utf-16-le" else codecs.BOM_UTF16_BE
    for rubbish in (
        bytes(Random(1).choices(range(0xD8), k=400)),
        b"Plain words, two to a character.",
        b"\xe0\xe0" * 20,
    ):
        with pytest.raises(UnreadableDocument, match=f"it is not text in {mark}"):
            read("a.txt", bom + rubbish)


@pytest.mark.parametrize(
    "text", ["漢字と仮名。\n" * 20, "서울에서 만나요.\n" * 20, "Größe\t5 €, 👩‍👩‍👧", "中文𠮷野家", "x"]
)
def test_text_behind_a_byte_order_mark_is_read_in_any_script(text: str) -> None:
    assert read("a.txt", codecs.BOM_UTF16_LE + text.encode("utf-16-le")).text == text.strip()


@pytest.mark.parametrize("title", ["untitled", "Untitled Document", "untitled-1", " (Untitled) "])
def test_placeholder_title_is_replaced_by_the_file_name(title: str) -> None:
    def parts(name: str, data: bytes, limits: ReadLimits) -> tuple[str, list[DocumentPart]]:
        return title, [DocumentPart("paragraph", "Words.")]

    assert read("guides/ferry.pdf", b"%PDF-1.7", pdf_parts=parts).title == "ferry"
