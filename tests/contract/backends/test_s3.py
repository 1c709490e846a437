"""The S3 client against the stand-in: the cases that hold of any S3, and what only a stand-in can be made to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sidecar.backends.errors import BackendDenied, BackendMissing, BackendThrottled, BackendUnavailable
from sidecar.backends.s3 import ReadTexts
from sidecar.context.ports import BackendError
from tests.stand_ins import s3
from tests.stand_ins.s3 import FakeS3
from tests.support.backends.s3_cases import *  # noqa: F403 - the cases are collected here
from tests.support.backends.s3_cases import Store


@pytest.fixture
def fake() -> Iterator[FakeS3]:
    """An S3 that stands in."""
    with s3.serving() as one:
        yield one


@pytest.fixture
def server_url(fake: FakeS3) -> str:
    """Where it listens."""
    return fake.url


async def test_unchanged_file_is_fetched_once(fake: FakeS3, store: Store) -> None:
    store.put("tenants/acme/todo.md", b"Paint the boat.")
    store.put("tenants/acme/blank.md", b" ")
    for _ in range(3):
        await store.read("")
    assert sorted(fake.fetched) == ["tenants/acme/blank.md", "tenants/acme/todo.md"]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (403, "AccessDenied", BackendDenied),
        (403, "InvalidAccessKeyId", BackendDenied),
        (400, "ExpiredToken", BackendDenied),
        (404, "NoSuchBucket", BackendMissing),
        (503, "SlowDown", BackendThrottled),
        (500, "InternalError", BackendUnavailable),
    ],
)
async def test_each_error_code_becomes_its_kind(
    fake: FakeS3, store: Store, status: int, code: str, kind: type[BackendError]
) -> None:
    fake.refusals = [(status, code)] * 3
    with pytest.raises(kind):
        await store.files.listed("")


async def test_unreadable_file_is_an_error_and_a_deleted_one_is_not(fake: FakeS3, store: Store) -> None:
    store.put("tenants/acme/todo.md", b"Paint the boat.")
    listed = await store.files.listed("")
    fake.refusals = [(403, "AccessDenied")]
    with pytest.raises(BackendDenied):
        await store.files.texts(listed)
    fake.refusals = [(404, "NoSuchKey")]
    assert await store.files.texts(listed) == ReadTexts({})


async def test_file_that_cannot_be_read_leaves_the_others(fake: FakeS3, store: Store) -> None:
    store.put("tenants/acme/boat.md", b"Paint the boat.")
    store.put("tenants/acme/todo.md", b"Buy rope.")
    listed = await store.files.listed("")
    fake.refusals = [(403, "InvalidObjectState")]
    read = await store.files.texts(listed)
    assert len(read.by_key) == 1
    (failure,) = read.failures
    assert failure.startswith("files: ")
    assert failure.endswith("(InvalidObjectState), for 1 of 2 files")


async def test_folder_that_is_larger_than_the_cache_is_read_whole(store: Store) -> None:
    store = replace(store, files=store.caching(30))
    for number in range(5):
        store.put(f"tenants/acme/{number}.md", f"note number {number}".encode())
    for _ in range(2):
        assert await store.read("") == {f"{number}.md": f"note number {number}" for number in range(5)}


async def test_turns_that_read_the_same_new_files_at_once_do_not_wear_out_the_cache(fake: FakeS3, store: Store) -> None:
    store = replace(store, files=store.caching(40))
    for turn in range(5):
        store.put("tenants/acme/todo.md", f"Paint boat {turn}.".encode())
        listed = await store.files.listed("")
        for read in await asyncio.gather(*(store.files.texts(listed) for _ in range(4))):
            assert list(read.by_key.values()) == [f"Paint boat {turn}."]
    fake.fetched.clear()
    await store.files.texts(listed)
    assert fake.fetched == []
