# The core of tunegraph, without the text model. Not built in continuous integration.
FROM python:3.12-slim
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir -c constraints.txt . && rm -rf /source/*
ENV TUNEGRAPH_WORKSPACE=/workspace/knowledge
VOLUME /workspace
WORKDIR /workspace
ENTRYPOINT ["tunegraph"]
