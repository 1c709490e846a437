"""Every method answers any message, or refuses it with a reason and the field at fault.

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
from tests.support.served.site import Site
from tests.support.served.turns import MODEL, QUESTION, THREAD, assembled, detailed, fill

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
TAME: dict[int, list[Any]] = {
    FieldDescriptor.TYPE_STRING: [
        "",
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
    ],
    FieldDescriptor.TYPE_BYTES: [b"", b"# Boats\n\nA boat."],
    FieldDescriptor.TYPE_INT32: [0, 1, 64, 1000],
    FieldDescriptor.TYPE_INT64: [0, 1_790_000_000],
    FieldDescriptor.TYPE_DOUBLE: [0.0, 0.5, 1.0],
    FieldDescriptor.TYPE_BOOL: [False, True],
}
ODD: dict[int, list[Any]] = {
    FieldDescriptor.TYPE_STRING: [
        "\x00",
        "\n",
        " ",
        "x" * 201,
        "x" * 20001,
        "../..",
        "//",
        "a/b.pdf",
        "a.html",
        "é" * 100,
        "\ue000\uffff",
        "%s {0} $1 '",
        "00000000-0000-0000-0000-000000000000",
        "WyJhIiwxXQ",
    ],
    FieldDescriptor.TYPE_BYTES: [
        b"%PDF-1.7\n%%EOF",
        b"\xff\xfe\x00",
        b"PK\x03\x04",
        b"<html><body>" * 50,
        b"x" * 70_000,
    ],
    FieldDescriptor.TYPE_INT32: [-1, 2, 10_001, 2**31 - 1, -(2**31)],
    FieldDescriptor.TYPE_INT64: [
        -1,
        2**62,
        -(2**62),
        253_402_300_799,
        253_402_300_800,
        -62_135_596_800,
        -62_135_596_801,
    ],
    FieldDescriptor.TYPE_DOUBLE: [-1.0, 1e308, float("nan"), float("inf"), -float("inf")],
    FieldDescriptor.TYPE_BOOL: [False, True],
}
texts = st.one_of(
    st.sampled_from([*TAME[FieldDescriptor.TYPE_STRING], *ODD[FieldDescriptor.TYPE_STRING]]), st.text(max_size=20)
)
objects = st.recursive(
    st.one_of(st.none(), st.booleans(), st.sampled_from(ODD[FieldDescriptor.TYPE_DOUBLE]), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)


def values(field: FieldDescriptor, depth: int, *, is_tame: bool) -> st.SearchStrategy[Any]:
    """Return what a field may be set to: what could be meant, or else at its edges and beyond."""
    if field.message_type is not None:
        return messages(field.message_type, depth + 1, is_tame=is_tame)
    if field.enum_type is not None:
        numbers: list[int] = [one.number for one in field.enum_type.values]
        return st.sampled_from(numbers if is_tame else [*numbers, -1, 99])
    tame = st.sampled_from(TAME[field.type])
    if is_tame:
        return tame
    odd = st.one_of(tame, st.sampled_from(ODD[field.type]))
    return st.one_of(odd, st.text(max_size=20)) if field.type == FieldDescriptor.TYPE_STRING else odd


@st.composite
def messages(draw: st.DrawFn, descriptor: Descriptor, depth: int = 0, *, is_tame: bool = False) -> Message:
    """Return a message of the type with some of its fields set: all tame, all but one, or none."""
    message = GetMessageClass(descriptor)()
    if descriptor.full_name == "google.protobuf.Struct":
        message.update({} if is_tame else draw(st.dictionaries(texts, objects, max_size=4)))  # type: ignore[attr-defined]
        return message
    names = [field.name for field in descriptor.fields]
    odd = set() if is_tame else draw(st.one_of(st.just(set(names)), st.sampled_from([{name} for name in names])))
    for field in descriptor.fields if depth < 4 else ():
        if not draw(st.booleans()) and field.name not in odd:
            continue
        value = values(field, depth, is_tame=field.name not in odd)
        if field.is_repeated:
            getattr(message, field.name).extend(draw(st.lists(value, max_size=3)))
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            getattr(message, field.name).CopyFrom(draw(value))
        else:
            setattr(message, field.name, draw(value))
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
