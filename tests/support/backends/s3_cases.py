"""Contract of workspace files in S3, real or stand-in: a module that runs these cases provides the fixture `server_url`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

import pytest

from sidecar.backends.aws import Client, Clients, Where
from sidecar.backends.backend_caller import CallLimits
from sidecar.backends.s3 import Bucket, ReadTexts, S3Files
from sidecar.turn.files import MAX_FILE_BYTES
from tests.support.backends.aws_site import use_credentials


@dataclass(frozen=True, slots=True)
class Store:
    """A bucket of the test's own, and our client of one prefix in it; `caching` makes one that keeps fewer characters."""

    client: Client
    bucket: str
    files: S3Files
    caching: Callable[[int], S3Files]

    def put(self, key: str, body: bytes) -> None:
        self.client.call("put_object", Bucket=self.bucket, Key=key, Body=body)

    async def read(self, location: str) -> dict[str, str]:
        """Return the texts below a location by their paths."""
        listed = await self.files.listed(location)
        texts = (await self.files.texts(listed)).by_key
        return {file.path: texts[file.key] for file in listed if file.key in texts}


@pytest.fixture
def store(server_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A fresh bucket with a client of the prefix `tenants/acme`."""
    use_credentials(monkeypatch)
    clients, where, name = Clients(), Where("us-east-1", server_url), f"bucket-{uuid4().hex}"
    client = clients.client("s3", where, read_timeout_s=30.0, connections=4)
    client.call("create_bucket", Bucket=name)
    placed = partial(S3Files, "files", Bucket(name, "/tenants/acme/", where), clients, CallLimits(60.0))
    files = placed()
    yield Store(client, name, files, lambda chars: placed(cached_chars=chars))
    files.close()
    clients.close()


async def test_only_text_files_below_a_location_are_read(store: Store) -> None:
    store.put("tenants/acme/agent/todo.md", b"Paint the boat.")
    store.put("tenants/acme/agent/notes/tides.txt", "Ebbe um sechs — Flut um zwölf.".encode())
    store.put("tenants/acme/agent/.hidden.md", b"hidden")
    store.put("tenants/acme/agent/.git/config.txt", b"hidden")
    store.put("tenants/acme/agent/boat.png", b"\x89PNG")
    store.put("tenants/acme/agent/binary.txt", b"a\xff\xfeb")
    store.put("tenants/acme/agent/blank.txt", b"  \n")
    store.put("tenants/acme/agent/large.txt", b"x" * (MAX_FILE_BYTES + 1))
    store.put("tenants/acme/agent/empty.txt", b"")
    store.put("tenants/acme/agent-2/other.md", b"another agent's")
    store.put("tenants/acme2/agent/other.md", b"another tenant's")
    assert await store.read("agent") == {
        "todo.md": "Paint the boat.",
        "notes/tides.txt": "Ebbe um sechs — Flut um zwölf.",
    }


@pytest.mark.parametrize("location", ["../acme2/agent", "/", "", "./..//..", "agent/../../acme2"])
async def test_no_location_leaves_the_prefix(store: Store, location: str) -> None:
    store.put("tenants/acme/ours.md", b"ours")
    store.put("tenants/acme2/agent/theirs.md", b"theirs")
    store.put("theirs.md", b"theirs")
    assert "theirs" not in (await store.read(location)).values()


async def test_files_of_several_pages_are_all_listed(store: Store) -> None:
    for number in range(8):
        store.put(f"tenants/acme/{number}.md", f"note {number}".encode())
    assert len(await store.read("")) == 8


async def test_changed_file_is_read_again_and_a_deleted_one_is_gone(store: Store) -> None:
    store.put("tenants/acme/todo.md", b"Paint the boat.")
    assert await store.read("") == {"todo.md": "Paint the boat."}
    store.put("tenants/acme/todo.md", b"Sell the boat.")
    assert await store.read("") == {"todo.md": "Sell the boat."}


async def test_file_changed_between_listing_and_reading_is_left_for_the_next_turn(store: Store) -> None:
    store.put("tenants/acme/todo.md", b"Paint the boat.")
    listed = await store.files.listed("")
    store.put("tenants/acme/todo.md", b"Sell the boat.")
    assert await store.files.texts(listed) == ReadTexts({})


async def test_empty_bucket_or_prefix_has_no_files(store: Store) -> None:
    assert await store.read("nothing/here") == {}
