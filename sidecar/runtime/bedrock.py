"""Configures Bedrock from the settings. Imported only if a Bedrock model is used: its SDK is slow to load."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from models.errors import InvalidRequest
from models.transport.bedrock_runtime import BedrockConfig
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings

Model = TypeVar("Model")


def at(settings: Settings, make: Callable[[BedrockConfig], Model]) -> Model:
    """Call `make` with Bedrock's region and endpoint from the settings. Raises SettingInvalid if either is unusable."""
    try:
        return make(BedrockConfig(settings.bedrock_region or None, settings.bedrock_endpoint_url or None))
    except InvalidRequest as error:
        if "URL" in error.detail:
            raise SettingInvalid(
                "SIDECAR_BEDROCK_ENDPOINT_URL", "is not a URL", "set one that begins with https://"
            ) from error
        fix = "set the region of your models, such as us-east-1"
        raise SettingInvalid("SIDECAR_BEDROCK_REGION", "is not set, and the AWS SDK has no region", fix) from error
