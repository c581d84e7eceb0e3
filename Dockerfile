# The core of tunegraph, without the text model. Not built in continuous integration.
# With optional parts: docker build --build-arg EXTRAS='[serve,postgresql]' .
FROM python:3.12-slim
ARG EXTRAS=""
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir -c constraints.txt ".${EXTRAS}" && rm -rf /source/*
ENV TUNEGRAPH_WORKSPACE=/workspace/knowledge
VOLUME /workspace
WORKDIR /workspace
ENTRYPOINT ["tunegraph"]
