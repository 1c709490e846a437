"""Configures a server with OpenAI's API from the settings. Imported only if such a model is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from models.errors import InvalidRequest
from models.transport.openai_client import OpenAIConfig
from sidecar.runtime.errors import SettingInvalid

Model = TypeVar("Model")


def at(variable: str, base_url: str, key: str, make: Callable[[OpenAIConfig], Model]) -> Model:
    """Call `make` with the server at the URL, the value of `variable`. Raises SettingInvalid if the URL is unusable."""
    try:
        return make(OpenAIConfig(base_url, (lambda: key) if key else None))
    except InvalidRequest as error:
        fix = "set one that begins with http:// or https://, without a user or a password"
        raise SettingInvalid(variable, "is not the URL of a server", fix) from error
