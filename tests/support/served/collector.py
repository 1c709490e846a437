"""A small OTLP collector: takes spans and metrics over gRPC on the published protos, and lets a test wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.support.waiting import PATIENCE_S


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: dict[str, Any] = {}
        self.target = ""
        self._news = asyncio.Condition()

    async def Export(self, request: Any, context: Any) -> Any:  # noqa: N802  # the protocol's name
        if isinstance(request, trace_service_pb2.ExportTraceServiceRequest):
            found = [span for part in request.resource_spans for one in part.scope_spans for span in one.spans]
            self.spans.extend(found)
            answer: Any = trace_service_pb2.ExportTraceServiceResponse()
        else:
            for part in request.resource_metrics:
                self.metrics.update({metric.name: metric for one in part.scope_metrics for metric in one.metrics})
            answer = metrics_service_pb2.ExportMetricsServiceResponse()
        async with self._news:
            self._news.notify_all()
        return answer

    async def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until what has come meets the condition."""
        async with asyncio.timeout(PATIENCE_S), self._news:
            await self._news.wait_for(condition)

    def named(self, name: str) -> list[Any]:
        """Return the spans of a name that have come."""
        return [span for span in self.spans if span.name == name]


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """Yield a collector that listens."""
    collector = Collector()
    server = grpc.aio.server()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call]  # generated
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call]  # generated
    port = server.add_insecure_port("127.0.0.1:0")
    collector.target = f"http://127.0.0.1:{port}"
    await server.start()
    try:
        yield collector
    finally:
        await server.stop(None)


def attributes(of: Iterable[KeyValue]) -> dict[str, Any]:
    """Return attributes as plain values."""
    return {pair.key: _plain(pair.value) for pair in of}


def _plain(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(one) for one in value.array_value.values]
    return getattr(value, kind) if kind else None
