"""Which language model a setting names, ready for use; each provider's SDK is loaded only where its models are used."""

from __future__ import annotations

from models.remote import RemoteModel
from sidecar.errors import SettingInvalid
from sidecar.settings import Settings

EXTRACTIVE, BEDROCK, OPENAI = "extractive", "bedrock", "openai"


def made(settings: Settings, variable: str, kind: str) -> RemoteModel | None:
    """Return the model that a variable names as `kind`, None for the extractive way. Raises SettingInvalid."""
    match kind:
        case "extractive":
            return None
        case "bedrock":
            from models.bedrock import bedrock_model
            from sidecar.bedrock import at

            return at(settings, bedrock_model)
        case "openai":
            from models.openai_client import OpenAIConfig
            from models.openai_compatible import openai_model

            key = settings.compile_api_key
            return openai_model(OpenAIConfig(settings.compile_base_url, (lambda: key) if key else None))
        case other:
            raise SettingInvalid(variable, f"{other!r} is not known", f"set {EXTRACTIVE}, {BEDROCK} or {OPENAI}")
