# The core of tunegraph, without the text model. Not built in continuous integration.
# With optional parts: docker build --build-arg EXTRAS='[serve,postgresql]' .
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
ARG EXTRAS=""
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt \
    && pip install --no-cache-dir --no-build-isolation -c constraints.txt ".${EXTRAS}" && rm -rf /source/*
ENV TUNEGRAPH_WORKSPACE=/workspace/knowledge
VOLUME /workspace
WORKDIR /workspace
ENTRYPOINT ["tunegraph"]
