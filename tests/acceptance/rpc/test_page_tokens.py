"""In every list call, a token that is none of that list's is refused by the field's name."""

from __future__ import annotations

import base64
import itertools

import grpc
from google.protobuf.message_factory import GetMessageClass

from sidecar.v1 import (
    admin_pb2,
    brain_pb2,
    compile_pb2,
    context_pb2,
    cost_pb2,
    decay_pb2,
    knowledge_pb2,
    memory_pb2,
    ontology_pb2,
    profile_pb2,
    wiki_pb2,
)
from tests.support.served.site import Site
from tests.support.served.turns import fill, refusal

FILES = (
    admin_pb2, brain_pb2, compile_pb2, context_pb2, cost_pb2, decay_pb2, knowledge_pb2, memory_pb2, ontology_pb2, profile_pb2,
    wiki_pb2,
)  # fmt: skip
SERVICES = itertools.chain.from_iterable(file.DESCRIPTOR.services_by_name.values() for file in FILES)
LISTS = [
    method
    for service in SERVICES
    for method in service.methods
    if "page_token" in {field.name for field in method.input_type.fields}
]
OF_ADMINS = {
    "ListAuditEntries", "ListBases", "ListBrainPages", "ListCopies", "ListDocuments", "ListOntologyChangeSets",
    "ListOntologyJobs", "ListOntologyVersions", "ListProfileVersions", "ListQuarantined", "ListReports",
}  # fmt: skip
KNOWN = {
    "owner_id": "mara",
    "thread_id": "harbour",
    "base": "handbook",
    "page": "calypso",
    "query": "boat",
    "memory_id": "boat-dock",
    "level": 2,
    "ref": "default",
}
NESTED = base64.urlsafe_b64encode(b'["x",' + b"[" * 500 + b"]" * 500 + b"]").decode().rstrip("=")
GARBLED = ("x", "é", "====", "W10", "bnVsbA", "a" * 5000, NESTED)


def test_lists_of_every_service_are_covered() -> None:
    assert len(LISTS) >= 14
    assert {method.containing_service.file.name for method in LISTS} == {file.DESCRIPTOR.name for file in FILES}


async def test_forged_or_foreign_page_token_is_refused_by_name(site: Site) -> None:
    agent = await fill(site)
    page = await agent.ListTurns(context_pb2.ListTurnsRequest(thread_id="harbour", page_size=1))
    tokens = (*GARBLED, page.next_page_token[:-3], page.next_page_token.swapcase())
    for method in LISTS:
        caller = site.token(admin=method.name in OF_ADMINS)
        names = {field.name for field in method.input_type.fields}
        known = {name: value for name, value in KNOWN.items() if name in names}
        foreign = () if method.name == "ListTurns" else (page.next_page_token,)
        call = site.channel.unary_unary(f"/{method.containing_service.full_name}/{method.name}")
        for token in (*tokens, *foreign):
            request = GetMessageClass(method.input_type)(page_token=token, **known)
            sent = call(request.SerializeToString(), metadata=(("authorization", f"Bearer {caller}"),), timeout=30.0)
            told = await refusal(sent)
            assert told == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "page_token"), (method.name, token)
