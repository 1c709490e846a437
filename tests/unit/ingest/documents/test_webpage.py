"""HTML to blocks: what a reader of the page sees, and nothing that only a browser runs."""

import pytest

from sidecar.ingest.documents.document import Content, DocumentText
from sidecar.ingest.documents.reader import read
from sidecar.ingest.errors import UnreadableDocument

PAGE = """\
<!doctype html><html><head><title>My
 page</title><style>p{}</style><script>x</script></head>
<body><nav><img alt=no><br>menu<ul><li>n</ul></nav>
<h1>Top <em>head</em></h1><p>One<br>two &amp; &nbsp; x</p><div>bare <span>inline</span><p>in a p</div>
<ul><li>one<li>two<ol start=3><li>x<li><p>y</p><p>yy</p></ol><li>three</ul>
<table><caption>Prices</caption><tr><th>A<th>B<tr><td><p>1</p><p>2</p><td>3</table>
<table><tr><td><h2>Layout</h2><p>cell</p></td><td><table><tr><td>inner</table></td></tr></table>
<pre>  a
    b<br>c</pre><p hidden>unseen</p><div aria-hidden=true>icon</div><dl><dt>Term<dd>Meaning</dl>
<img alt="A cat"><!-- note --><p>日本語</body></html>"""


def of(text: str) -> DocumentText:
    return read("a.html", text.encode())


def shapes(document: DocumentText) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in document.blocks]


def test_all_kinds_of_html_become_blocks() -> None:
    document = of(PAGE)
    assert (document.title, document.media_type) == ("My page", "text/html")
    assert shapes(document) == [
        ("heading", "Top head"),
        ("paragraph", "One\ntwo & x"),
        ("paragraph", "bare inline"),
        ("paragraph", "in a p"),
        ("list", "- one\n- two\n  3. x\n  4. y\n    yy\n- three"),
        ("table", "Prices\nA | B\n1 2 | 3"),
        ("heading", "Layout"),
        ("paragraph", "cell"),
        ("paragraph", "inner"),
        ("code", "  a\n    b\nc"),
        ("paragraph", "Term"),
        ("paragraph", "Meaning"),
        ("paragraph", "A cat"),
        ("paragraph", "日本語"),
    ]


@pytest.mark.parametrize("tag", ["script", "style", "template", "noscript", "nav", "svg", "iframe", "object", "select"])
def test_non_content_elements_are_left_out(tag: str) -> None:
    assert "secret" not in of(f"<p>before</p><{tag}>secret <b>secret</b></{tag}><p>after</p>").text


@pytest.mark.parametrize("text", ["", " \n ", "<!-- only a note -->", "<script>x</script>", "<html></html>"])
def test_page_without_words_is_reported_as_empty(text: str) -> None:
    assert of(text).content is Content.EMPTY


def test_declared_encoding_is_used() -> None:
    page = "<meta charset='{0}'><p>Größe</p>"
    assert read("a.html", page.format("iso-8859-1").encode("latin-1")).text == "Größe"
    assert read("a.html", "<meta charset=shift_jis><p>日本</p>".encode("shift_jis")).text == "日本"
    assert read("a.html", page.format("unicode_escape").encode()).text == "Größe"
    with pytest.raises(UnreadableDocument, match="not valid utf-8"):
        read("a.html", b"<p>\xe9</p>")


def test_forbidden_characters_are_removed_from_pages() -> None:
    assert of("<p>a&#0;b&#xD800;c</p>").text == "a\ufffdb\ufffdc"


def test_attribute_as_long_as_a_page_is_skipped() -> None:
    assert of("<p a='" + "x" * 200_000 + "'>words").text == "words"
