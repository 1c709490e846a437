"""Builds the language model that a setting names; imports a provider's SDK only if its models are used."""

from __future__ import annotations

from models.language.remote import RemoteModel
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings

EXTRACTIVE, BEDROCK, OPENAI = "extractive", "bedrock", "openai"


def check(variable: str, kind: str) -> None:
    """Raise SettingInvalid if `kind`, the variable's value, is unknown."""
    if kind not in (EXTRACTIVE, BEDROCK, OPENAI):
        raise SettingInvalid(variable, f"{kind!r} is not known", f"set {EXTRACTIVE}, {BEDROCK} or {OPENAI}")


def made(settings: Settings, variable: str, kind: str) -> RemoteModel | None:
    """Return the model named by `kind`, the variable's value; None for extractive. Raises SettingInvalid."""
    check(variable, kind)
    if kind == EXTRACTIVE:
        return None
    if kind == BEDROCK:
        from models.language.bedrock import bedrock_model
        from sidecar.runtime.bedrock import at

        return at(settings, bedrock_model)
    from models.language.openai_compatible import openai_model
    from sidecar.runtime import openai_server

    server = ("SIDECAR_COMPILE_BASE_URL", settings.compile_base_url, settings.compile_api_key)
    return openai_server.at(*server, openai_model)
