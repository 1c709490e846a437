"""Whatever a message holds, every method answers, or refuses with a reason and, where a value is wrong, with its field.

Messages are made from the contract's descriptors, so a new field is fuzzed from the day it stands there.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from sidecar.v1 import admin_pb2, context_pb2, knowledge_pb2, memory_pb2, profile_pb2
from tests.acceptance.conftest import Site
from tests.acceptance.turns import MODEL, QUESTION, THREAD, assembled, detailed, fill

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILES = (context_pb2, memory_pb2, knowledge_pb2, profile_pb2, admin_pb2)
METHODS = {
    f"{service.name}.{method.name}": method
    for file in FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
REFUSALS = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.ABORTED,
}
TENANT = "fuzzed"
KNOWN = [
    TENANT,
    "mara",
    "assistant",
    THREAD,
    "handbook",
    "boats.md",
    "boat-dock",
    "default",
    MODEL,
    QUESTION,
    "u0",
    "user",
]
ODD = [
    "\0",
    "\n",
    " ",
    "x" * 201,
    "x" * 20_001,
    "../..",
    "a/b.pdf",
    "a.html",
    "a.md",
    "é" * 100,
    "\ue000\uffff",
    "%s {0} $1 '",
]
EDGES = {
    "int32": [0, 1, -1, 2, 64, 1000, 2**31 - 1, -(2**31)],
    "int64": [0, 1, -1, 2**62, -(2**62), 253_402_300_799, 253_402_300_800, -62_135_596_800, -62_135_596_801],
    "double": [0.0, 0.5, 1.0, -1.0, 1e308, float("nan"), float("inf"), -float("inf")],
    "bytes": [
        b"",
        b"# Boats\n\nA boat.",
        b"%PDF-1.7\n%%EOF",
        b"\xff\xfe\x00",
        b"PK\x03\x04",
        b"<html><body>" * 50,
        b"x" * 70_000,
    ],
}
LABELS = {
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_DOUBLE: "double",
}

texts = st.one_of(st.just(""), st.sampled_from(KNOWN), st.sampled_from(ODD), st.text(max_size=20))
objects = st.recursive(
    st.one_of(st.none(), st.booleans(), st.sampled_from(EDGES["double"]), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)


def values(field: FieldDescriptor, depth: int) -> st.SearchStrategy[Any]:
    """Return what a field may be set to: mostly what could be meant, often at its edges or beyond."""
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return messages(field.message_type, depth + 1)
    if field.type == FieldDescriptor.TYPE_ENUM:
        return st.one_of(st.sampled_from([one.number for one in field.enum_type.values]), st.sampled_from([-1, 99]))
    if field.type == FieldDescriptor.TYPE_STRING:
        return texts
    if field.type == FieldDescriptor.TYPE_BYTES:
        return st.one_of(st.sampled_from(EDGES["bytes"]), st.binary(max_size=50))
    if field.type == FieldDescriptor.TYPE_BOOL:
        return st.booleans()
    return st.sampled_from(EDGES[LABELS[field.type]])


@st.composite
def messages(draw: st.DrawFn, descriptor: Descriptor, depth: int = 0) -> Message:
    """Return a message of the type with some of its fields set."""
    message = GetMessageClass(descriptor)()
    if descriptor.full_name == "google.protobuf.Struct":
        message.update(draw(st.dictionaries(texts, objects, max_size=4)))  # type: ignore[attr-defined]
        return message
    for field in descriptor.fields:
        if depth > 3 or not draw(st.booleans()):
            continue
        if field.is_repeated:
            getattr(message, field.name).extend(draw(st.lists(values(field, depth), max_size=3)))
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            getattr(message, field.name).CopyFrom(draw(values(field, depth)))
        else:
            setattr(message, field.name, draw(values(field, depth)))
    return message


@pytest.fixture(scope="module")
def receipts() -> list[str]:
    """Ids of receipts, once some were left."""
    return []


@pytest.mark.parametrize("name", METHODS)
@given(data=st.data())
async def test_any_message_is_answered_or_refused_with_a_reason(
    shared_site: Site, receipts: list[str], name: str, data: st.DataObject
) -> None:
    if not receipts:
        agent = await fill(shared_site, tenant=TENANT)
        receipts += [(await assembled(agent)).receipt_id for _ in range(2)]
    method = METHODS[name]
    request = data.draw(messages(method.input_type))
    for field in method.input_type.fields:
        if field.name.endswith("receipt_id") and data.draw(st.booleans()):
            setattr(request, field.name, data.draw(st.sampled_from(receipts)))
    # A revocation would refuse the next calls, too.
    tenant = f"revoked-{uuid4().hex}" if name == "AdminService.RevokeTokens" else TENANT
    caller = shared_site.caller(tenant, admin=data.draw(st.booleans()))
    try:
        answer = await getattr(caller, method.name)(request, timeout=30.0)
    except grpc.aio.AioRpcError as error:
        _check_refusal(error, method)
    else:
        assert isinstance(answer, GetMessageClass(method.output_type))


def _check_refusal(error: grpc.aio.AioRpcError, method: MethodDescriptor) -> None:
    reason, named = detailed(error)
    assert error.code() in REFUSALS, f"{method.full_name}: {error.details()}"
    assert reason
    if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
        top = named.partition(".")[0].partition("[")[0]
        assert top in method.input_type.fields_by_name, f"{method.full_name} names {named!r}: {error.details()}"
