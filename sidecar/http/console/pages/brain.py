"""The tenant's Brain: its rules, released copies and pages; an admin proposes, approves, withdraws and releases."""

from __future__ import annotations

from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from compiler.plan.edge_types import TypedEdge
from sidecar.http.console.desk import Desk, Visit, route
from sidecar.services.brain.context import BrainId, BrainScope
from sidecar.services.brain.releases import Actor
from sidecar.services.validation import read_id, read_uuid
from store.scope import Scope, brain_of
from store.tenancy.brain import CopyState, ReleaseRule

_SHOWN = 50
_PAGES = 100


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about the Brain."""
    return [
        route(desk, "/brain", show_brain),
        route(desk, "/brain/propose", propose, methods=["POST"]),
        route(desk, "/brain/approve", approve, methods=["POST"]),
        route(desk, "/brain/withdraw", withdraw, methods=["POST"]),
        route(desk, "/brain/release", release, methods=["POST"]),
        route(desk, "/brain/take-back", take_back, methods=["POST"]),
        route(desk, "/brain/switch", switch, methods=["POST"]),
        route(desk, "/brain/rename", rename, methods=["POST"]),
        route(desk, "/brain/merge", merge, methods=["POST"]),
        route(desk, "/brain/unmerge", unmerge, methods=["POST"]),
        route(desk, "/brain/wrong", report, methods=["POST"]),
        route(desk, "/brain/restore", restore, methods=["POST"]),
        route(desk, "/brain/edge", edge, methods=["POST"]),
    ]


async def show_brain(visit: Visit) -> Response:
    """Show the rules, the copies in one state, and the pages; the query's `state` filters copies, `after` is the page token."""
    visit.require_admin()
    service, tenant_id = visit.services.brain, visit.identity.tenant_id
    state = visit.query.get("state", "")
    state = state if state in {one.value for one in CopyState} else CopyState.RELEASED.value
    copies = await service.copies(tenant_id, state=state, after=visit.query.get("after", "")[:200], limit=_SHOWN + 1)
    pages = await service.pages(tenant_id, limit=_PAGES)
    return await visit.page(
        "brain.html",
        brain=await service.state(tenant_id),
        state=state,
        states=[one.value for one in CopyState],
        copies=copies[:_SHOWN],
        more=copies[_SHOWN - 1][0].copy_id if len(copies) > _SHOWN else "",
        pages=[(page, str(BrainId(BrainScope.BRAIN, page.page_id))) for page in pages],
        documents=await service.documents_of(tenant_id, [one for one, _ in copies]),
        reports=await visit.services.wiki.reports(brain_of(tenant_id), limit=_PAGES),
    )


async def propose(visit: Visit) -> Response:
    """Propose a rule by tags, types of memories, or both, or by a knowledge base."""
    visit.require_admin()
    tier = visit.form.get("tier", "0")
    rule = ReleaseRule(
        UUID(int=0),
        visit.form.get("name", ""),
        _words(visit.form.get("tags", "")),
        _words(visit.form.get("memory_types", "")),
        least_authority=visit.form.get("least_authority", "agent"),
        trust_tier=int(tier[:20]) if tier.isdecimal() else -1,
        reason=visit.form.get("reason", "").strip(),
        knowledge_base=visit.form.get("base", "").strip(),
        document_path=visit.form.get("document", "").strip(),
    )
    await visit.services.brain.propose(visit.identity.tenant_id, rule, _actor(visit))
    visit.tell("The rule is proposed. It releases nothing until it is approved.")
    return RedirectResponse("/brain", 303)


async def approve(visit: Visit) -> Response:
    """Approve a rule."""
    visit.require_admin()
    rule = await visit.services.brain.approve(visit.identity.tenant_id, _rule_id(visit), _actor(visit))
    visit.tell(f"The rule {rule.name} is approved; a worker compares all memories with it.")
    return RedirectResponse("/brain", 303)


async def withdraw(visit: Visit) -> Response:
    """Withdraw a rule and its copies."""
    visit.require_admin()
    rule = await visit.services.brain.withdraw_rule(visit.identity.tenant_id, _rule_id(visit), _actor(visit))
    visit.tell(f"The rule {rule.name} is withdrawn, with its copies.")
    return RedirectResponse("/brain", 303)


async def release(visit: Visit) -> Response:
    """Release a held or withdrawn copy with a reason."""
    visit.require_admin()
    reason = visit.form.get("reason", "").strip()
    await visit.services.brain.release(visit.identity.tenant_id, visit.form.get("copy_id", ""), reason, _actor(visit))
    visit.tell("The copy is released; the audit log keeps the reason.")
    return RedirectResponse("/brain", 303)


async def take_back(visit: Visit) -> Response:
    """Withdraw a copy."""
    visit.require_admin()
    await visit.services.brain.withdraw_copy(visit.identity.tenant_id, visit.form.get("copy_id", ""), _actor(visit))
    visit.tell("The copy is withdrawn, and removed from pages.")
    return RedirectResponse("/brain?state=withdrawn", 303)


async def switch(visit: Visit) -> Response:
    """Show the Brain in turns, or hide it."""
    visit.require_admin()
    is_shown = visit.form.get("shown") == "yes"
    await visit.services.brain.show(visit.identity.tenant_id, is_shown=is_shown)
    visit.tell("Turns see the Brain." if is_shown else "Turns no longer see the Brain.")
    return RedirectResponse("/brain", 303)


async def rename(visit: Visit) -> Response:
    """Give a page another title."""
    row = await visit.services.wiki.rename_page(_there(visit), _page(visit), visit.form.get("title", "").strip())
    visit.tell(f"The page is now titled {row.title}, and later compiles keep the title.")
    return RedirectResponse("/brain", 303)


async def merge(visit: Visit) -> Response:
    """Merge a page into another."""
    row = await visit.services.wiki.merge_pages(_there(visit), _page(visit), visit.form.get("into", "").strip())
    visit.tell(f"The page is now a part of {row.title}, and later compiles keep the merge.")
    return RedirectResponse("/brain", 303)


async def unmerge(visit: Visit) -> Response:
    """Undo a merge."""
    path, _, _ = await visit.services.wiki.undo_merge(_there(visit), _page(visit))
    visit.tell(f"{path} is a separate page again after the next compile.")
    return RedirectResponse("/brain", 303)


async def report(visit: Visit) -> Response:
    """Remove a wrong sentence from a page."""
    sentence = visit.form.get("sentence", "").strip()
    await visit.services.wiki.report_sentence(_there(visit), _page(visit), sentence)
    visit.tell("The sentence is removed from the page, and no compile writes it there again.")
    return RedirectResponse("/brain", 303)


async def restore(visit: Visit) -> Response:
    """Restore a reported sentence."""
    report_id = read_id("report_id", visit.form.get("report_id", ""))
    await visit.services.wiki.restore_sentence(_there(visit), report_id)
    visit.tell("The sentence is restored on its page.")
    return RedirectResponse("/brain", 303)


async def edge(visit: Visit) -> Response:
    """State a typed edge by hand, or take one back."""
    ends = (_there(visit), _page(visit), visit.form.get("target", "").strip())
    stated = TypedEdge(visit.form.get("type", "").strip())
    if visit.form.get("act") == "remove":
        was_there = await visit.services.wiki.edges.drop(*ends, stated)
        visit.tell("The edge is taken back." if was_there else "No such edge was stated by hand.")
    else:
        await visit.services.wiki.edges.write(*ends, stated)
        visit.tell("The edge is stated.")
    return RedirectResponse("/brain", 303)


def _there(visit: Visit) -> Scope:
    """Return the scope of the Brain. Raises PermissionDenied for callers that are not admins."""
    visit.require_admin()
    return brain_of(visit.identity.tenant_id)


def _page(visit: Visit) -> str:
    return visit.form.get("page", "").strip().removeprefix(f"{BrainScope.BRAIN.value}:")


def _rule_id(visit: Visit) -> UUID:
    return read_uuid("rule_id", visit.form.get("rule_id", ""))


def _actor(visit: Visit) -> Actor:
    return Actor(visit.identity.subject, visit.identity.token_id, "console")


def _words(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())
