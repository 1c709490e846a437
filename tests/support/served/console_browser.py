"""A browser at a served console, signed in, and the word that its forms carry."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from tests.support.served.site import Site
from tests.support.served.turns import asking, explained


@asynccontextmanager
async def browser(site: Site, *, admin: bool = False, signs_in: bool = True) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a browser at the console, signed in."""
    base = f"http://{site.app.console_address}"
    async with httpx.AsyncClient(base_url=base, headers={"origin": base}, timeout=60) as client:
        if signs_in:
            answer = await client.post("/login", data={"token": site.token(admin=admin)})
            assert answer.status_code == 303
            if admin:
                csrf = await csrf_token_of(client, "/owner")
                assert (await client.post("/owner", data={"csrf_token": csrf, "owner": "mara"})).status_code == 303
        yield client


async def csrf_token_of(client: httpx.AsyncClient, page: str) -> str:
    """Return the CSRF token of a page's forms."""
    found = re.search(r'name="csrf_token" value="([^"]+)"', (await client.get(page)).text)
    assert found is not None
    return found[1]


async def asked(site: Site) -> str:
    """Assemble the question, and return the receipt's id once it is written."""
    caller = site.caller()
    receipt_id = (await caller.AssembleContext(asking())).assembly.receipt_id
    await explained(caller, receipt_id)
    return str(receipt_id)
