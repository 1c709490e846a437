# The base needs Python 3.11 with venv; another one is set with --build-arg BASE=…
ARG BASE=docker.io/library/python:3.11-slim-bookworm

FROM ${BASE} AS build
WORKDIR /src
RUN python3 -m venv /opt/sidecar
COPY requirements.lock ./
RUN /opt/sidecar/bin/python -m pip install --no-cache-dir --require-hashes -r requirements.lock
COPY . .
RUN /opt/sidecar/bin/python -m pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /opt/sidecar/bin/python -m pip uninstall --yes --quiet -r .ci/not-in-the-image.txt

FROM ${BASE}
COPY --from=build /opt/sidecar /opt/sidecar
RUN groupadd --gid 10001 sidecar \
    && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin sidecar \
    && install -d -o 10001 -g 10001 -m 0700 /var/lib/context-sidecar
ENV PATH=/opt/sidecar/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SIDECAR_DATA_DIR=/var/lib/context-sidecar \
    SIDECAR_PRODUCTION=true \
    SIDECAR_LISTEN=127.0.0.1:7433
USER 10001:10001
VOLUME /var/lib/context-sidecar
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["sidecar", "health"]
ENTRYPOINT ["sidecar"]
CMD ["serve"]
