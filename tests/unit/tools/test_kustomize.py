"""A kustomization builds what its base is, as its patches, components and images change it."""

from typing import Any

import pytest

from tools.kustomize import build

DEPLOYMENT = """
kind: Deployment
metadata: {name: decode, labels: {role: decode}}
spec:
  replicas: 1
  template:
    spec:
      containers:
        - {name: engine, image: HOLE, args: [a], env: [{name: A, value: "1"}], ports: [{containerPort: 1}]}
"""
FILES = {
    "base/kustomization.yaml": "resources: [pods.yaml, ../other, https://far.example/x.yaml]",
    "base/pods.yaml": DEPLOYMENT,
    "other/kustomization.yaml": "resources: [s.yaml]",
    "other/s.yaml": "{kind: Service, metadata: {name: decode}, spec: {a: 1, b: 2}}",
    "images/kustomization.yaml": "{kind: Component, images: [{name: HOLE, newName: vllm/vllm-openai, newTag: v1}]}",
}
TOP = """
resources: [../base]
components: [../images]
labels: [{pairs: {vendor: nvidia}}]
patches:
  - path: patch.yaml
  - target: {kind: Deployment, name: prefix-decode}
    patch: |-
      - {op: replace, path: /spec/replicas, value: 3}
      - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: C, value: "3"}}
      - {op: add, path: /metadata/labels/x~1y, value: z}
      - {op: remove, path: /spec/template/spec/containers/0/ports/0}
"""
PATCH = """
kind: Deployment
metadata: {name: decode}
spec:
  template:
    spec:
      containers:
        - {name: engine, args: [b, c], env: [{name: B, value: "2"}, {name: A, value: "9"}]}
---
kind: Service
metadata: {name: decode}
spec: {a: null}
"""


def built(top: str, patch: str = "") -> list[dict[str, Any]]:
    files = {**FILES, "top/kustomization.yaml": top, "top/patch.yaml": patch}
    return build("top/kustomization.yaml", files.get)


def test_base_patches_operations_components_and_labels_are_one_object() -> None:
    deployment, service = built(TOP, PATCH)
    (engine,) = deployment["spec"]["template"]["spec"]["containers"]
    assert engine == {
        "name": "engine",
        "image": "vllm/vllm-openai:v1",
        "args": ["b", "c"],
        "env": [{"name": n, "value": v} for n, v in (("B", "2"), ("A", "9"), ("C", "3"))],
        "ports": [],
    }
    assert deployment["spec"]["replicas"] == 3
    assert deployment["metadata"]["labels"] == {"role": "decode", "vendor": "nvidia", "x/y": "z"}
    assert service["spec"] == {"b": 2}


def test_what_is_deleted_is_gone() -> None:
    whole = "{kind: Service, metadata: {name: decode}, $patch: delete}"
    part = PATCH.partition("---")[0].replace('{name: B, value: "2"}', "{name: A, $patch: delete}")
    top = "{resources: [../base], patches: [{path: patch.yaml}]}"
    assert [item["kind"] for item in built(top, whole)] == ["Deployment"]
    deployment, _ = built(top, part.replace(', {name: A, value: "9"}', ""))
    assert deployment["spec"]["template"]["spec"]["containers"][0]["env"] == []


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(KeyError, match="nowhere"):
        built("resources: [../nowhere]")
    with pytest.raises(KeyError, match=r"none\.yaml"):
        built("resources: [none.yaml]")
