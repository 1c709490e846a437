"""The tenant's Brain: its rules, what they released, and its pages; an admin proposes, approves, withdraws and releases."""

from __future__ import annotations

from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, route
from sidecar.services.brain.context import BrainId, BrainScope
from sidecar.services.brain.releases import Actor
from sidecar.services.validation import read_uuid
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
    ]


async def show_brain(visit: Visit) -> Response:
    """Show the rules, the copies of one state, and the pages; `state` chooses, `after` goes on."""
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
    )


async def propose(visit: Visit) -> Response:
    """Propose a rule by tags, types of memories, or both."""
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
    """Withdraw a rule with what it released."""
    visit.require_admin()
    rule = await visit.services.brain.withdraw_rule(visit.identity.tenant_id, _rule_id(visit), _actor(visit))
    visit.tell(f"The rule {rule.name} is withdrawn, with its copies.")
    return RedirectResponse("/brain", 303)


async def release(visit: Visit) -> Response:
    """Release a held or withdrawn copy for a reason."""
    visit.require_admin()
    reason = visit.form.get("reason", "").strip()
    await visit.services.brain.release(visit.identity.tenant_id, visit.form.get("copy_id", ""), reason, _actor(visit))
    visit.tell("The copy is released; the audit log keeps the reason.")
    return RedirectResponse("/brain", 303)


async def take_back(visit: Visit) -> Response:
    """Take a copy back."""
    visit.require_admin()
    await visit.services.brain.withdraw_copy(visit.identity.tenant_id, visit.form.get("copy_id", ""), _actor(visit))
    visit.tell("The copy is withdrawn, with what it fed.")
    return RedirectResponse("/brain?state=withdrawn", 303)


async def switch(visit: Visit) -> Response:
    """Let turns see the Brain, or not."""
    visit.require_admin()
    is_shown = visit.form.get("shown") == "yes"
    await visit.services.brain.show(visit.identity.tenant_id, is_shown)
    visit.tell("Turns see the Brain." if is_shown else "Turns do not see the Brain any more.")
    return RedirectResponse("/brain", 303)


def _rule_id(visit: Visit) -> UUID:
    return read_uuid("rule_id", visit.form.get("rule_id", ""))


def _actor(visit: Visit) -> Actor:
    return Actor(visit.identity.subject, visit.identity.token_id, "console")


def _words(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())
