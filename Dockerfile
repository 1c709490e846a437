# Any base with Python 3.11, its venv module and glibc serves: --build-arg BASE=…
ARG BASE=docker.io/library/python:3.11-slim-bookworm

# All packages are fetched here, checked against their hashes; of them, the service's own go into /opt/sidecar.
FROM ${BASE} AS build
WORKDIR /src
RUN python3 -m venv /opt/pip && python3 -m venv --without-pip /opt/sidecar
COPY requirements.lock ./
RUN /opt/pip/bin/pip download --no-cache-dir --no-deps --require-hashes --requirement requirements.lock --dest /wheels
COPY . .
RUN /opt/pip/bin/pip --python /opt/sidecar/bin/python install --no-cache-dir --no-index --find-links /wheels ".[multilingual,mcp]"

FROM ${BASE}
RUN groupadd --gid 10001 sidecar \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin sidecar \
    && install -d -o 10001 -g 10001 -m 0700 /var/lib/context-sidecar
COPY --from=build /opt/sidecar /opt/sidecar
# Huge pages for large memory: the embedder reads 42 MB of weights for each question.
ENV PATH=/opt/sidecar/bin:$PATH \
    GLIBC_TUNABLES=glibc.malloc.hugetlb=1 \
    SIDECAR_DATA_DIR=/var/lib/context-sidecar \
    SIDECAR_PRODUCTION=true
USER 10001:10001
VOLUME /var/lib/context-sidecar
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["sidecar", "health"]
ENTRYPOINT ["sidecar"]
CMD ["serve"]
