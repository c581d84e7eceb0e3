"""The terms of the graph: namespaces, classes and predicates; ``data/ontology/tuning.ttl`` documents ours."""

from collections.abc import Mapping
from typing import Final

from pyoxigraph import Literal, NamedNode, Triple

NAMESPACE: Final = "https://w3id.org/tunegraph/"
TERMS: Final = NAMESPACE + "ns#"

PREFIXES: Final[dict[str, str]] = {
    "tg": TERMS,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "prov": "http://www.w3.org/ns/prov#",
    "dcterms": "http://purl.org/dc/terms/",
    "qudt": "http://qudt.org/schema/qudt/",
    "unit": "http://qudt.org/vocab/unit/",
    "dimension": NAMESPACE + "dimension/",
    "trait": NAMESPACE + "trait/",
    "software": NAMESPACE + "software/",
    "property": NAMESPACE + "property/",
    "against": NAMESPACE + "against/",
    "circumstance": NAMESPACE + "circumstance/",
}
"""Prefix to namespace, as used in exports and queries."""


def _term(name: str) -> NamedNode:
    prefix, local = name.split(":")
    return NamedNode(PREFIXES[prefix] + local)


RDF_TYPE: Final = _term("rdf:type")
RDF_JSON: Final = _term("rdf:JSON")
XSD_DATE_TIME: Final = _term("xsd:dateTime")
XSD_STRING: Final = _term("xsd:string")
XSD_ANY_URI: Final = _term("xsd:anyURI")

SPDX: Final = "https://spdx.org/licenses/"
LICENCES: Final = frozenset(
    {
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSD-3-Clause-LBNL",
        "CC-BY-4.0",
        "CC-BY-SA-4.0",
        "CC0-1.0",
        "GPL-3.0-only",
        "LGPL-3.0-only",
        "MIT",
        "MPL-2.0",
        "MulanPSL-2.0",
    }
)
"""Licences that have a page at SPDX under their name; the terms of others are kept as text."""

VERSION: Final = 2
"""Version of the vocabulary; exports of newer ones are refused."""
GRAPH: Final = NamedNode(NAMESPACE + "graph")
VERSION_INFO: Final = _term("owl:versionInfo")
HEADER: Final = (
    Triple(GRAPH, RDF_TYPE, _term("owl:Ontology")),
    Triple(GRAPH, _term("owl:imports"), NamedNode(f"{NAMESPACE}ns/{VERSION}")),
    Triple(GRAPH, VERSION_INFO, Literal(str(VERSION))),
)
"""Header of an export: the vocabulary that it is written in."""


class Shared:
    """Terms of other vocabularies that the graph uses as they are."""

    CONCEPT: Final = _term("skos:Concept")
    IN_SCHEME: Final = _term("skos:inScheme")
    CLOSE_MATCH: Final = _term("skos:closeMatch")
    NOTATION: Final = _term("skos:notation")
    PREF_LABEL: Final = _term("skos:prefLabel")
    ALT_LABEL: Final = _term("skos:altLabel")
    DEFINITION: Final = _term("skos:definition")
    BROADER: Final = _term("skos:broader")
    NOTE: Final = _term("skos:note")
    DERIVED_FROM: Final = _term("prov:wasDerivedFrom")
    GENERATED_BY: Final = _term("prov:wasGeneratedBy")
    ENDED_AT: Final = _term("prov:endedAtTime")
    USED: Final = _term("prov:used")
    TITLE: Final = _term("dcterms:title")
    SOURCE: Final = _term("dcterms:source")
    LICENCE: Final = _term("dcterms:license")
    RIGHTS: Final = _term("dcterms:rights")
    UNIT: Final = _term("qudt:hasUnit")
    SEE_ALSO: Final = _term("rdfs:seeAlso")


class TG:
    """Terms of this project's own; ``data/ontology/tuning.ttl`` documents each."""

    # classes
    ASSIGNMENT: Final = _term("tg:Assignment")
    BATCH: Final = _term("tg:Batch")
    BOTTLENECK: Final = _term("tg:Bottleneck")
    BOTTLENECK_SHARE: Final = _term("tg:BottleneckShare")
    CAVEAT: Final = _term("tg:Caveat")
    CAUSE: Final = _term("tg:Cause")
    CAUSE_EDGE: Final = _term("tg:CauseEdge")
    CONDITION: Final = _term("tg:Condition")
    CONTEXT: Final = _term("tg:Context")
    EFFECT: Final = _term("tg:Effect")
    EVIDENCE: Final = _term("tg:Evidence")
    FACT: Final = _term("tg:Fact")
    FAULT: Final = _term("tg:Fault")
    FRAMEWORK: Final = _term("tg:Framework")
    GREEN_SCHEDULE: Final = _term("tg:GreenSchedule")
    GRID_REGION: Final = _term("tg:GridRegion")
    HARDWARE_PROFILE: Final = _term("tg:HardwareProfile")
    LIMIT: Final = _term("tg:Limit")
    MODEL: Final = _term("tg:Model")
    MODEL_FAMILY: Final = _term("tg:ModelFamily")
    OBJECTIVE: Final = _term("tg:Objective")
    OUTCOME: Final = _term("tg:Outcome")
    PARAMETER: Final = _term("tg:Parameter")
    PROBLEM: Final = _term("tg:Problem")
    RECIPE: Final = _term("tg:Recipe")
    RELATION: Final = _term("tg:Relation")
    SOURCE: Final = _term("tg:Source")
    STRATEGY: Final = _term("tg:Strategy")
    SYMPTOM: Final = _term("tg:Symptom")
    VERSION_BOUND: Final = _term("tg:VersionBound")
    WORKLOAD: Final = _term("tg:Workload")

    # problems
    BATCH_OF: Final = _term("tg:batch")
    BETTER: Final = _term("tg:better")
    BOTTLENECK_SHARES: Final = _term("tg:bottleneckShare")
    CURRENT: Final = _term("tg:currentConfiguration")
    DEVICE_COUNT: Final = _term("tg:deviceCount")
    HARDWARE: Final = _term("tg:hardware")
    HARDWARE_TRAITS: Final = _term("tg:hardwareTraits")
    HAS_BOTTLENECK: Final = _term("tg:hasBottleneck")
    IN_CONTEXT: Final = _term("tg:inContext")
    LIMITED_BY: Final = _term("tg:limitedBy")
    MAXIMUM: Final = _term("tg:maximum")
    METRIC: Final = _term("tg:metric")
    OF_BOTTLENECK: Final = _term("tg:bottleneck")
    OF_MODEL: Final = _term("tg:model")
    OF_OBJECTIVE: Final = _term("tg:objective")
    OF_WORKLOAD: Final = _term("tg:workload")
    OPERATOR: Final = _term("tg:operator")
    POSITION: Final = _term("tg:position")
    PRECISION: Final = _term("tg:precision")
    REPORTED_HARDWARE: Final = _term("tg:reportedHardware")
    SHARE: Final = _term("tg:share")
    UNIT_SYMBOL: Final = _term("tg:unitSymbol")
    WORKLOAD_KIND: Final = _term("tg:workloadKind")

    # sources and batches
    BATCH_NUMBER: Final = _term("tg:batchNumber")
    COMMIT: Final = _term("tg:commit")
    COMPLETED: Final = _term("tg:completed")
    COUNTS: Final = _term("tg:counts")
    FILE: Final = _term("tg:file")
    ORIGIN: Final = _term("tg:origin")
    PATH: Final = _term("tg:path")
    SEAL: Final = _term("tg:seal")
    TRUST: Final = _term("tg:trust")
    URL: Final = _term("tg:url")

    # every concept and every statement
    CONFIDENCE: Final = _term("tg:confidence")
    FACT_KIND: Final = _term("tg:factKind")
    FACT_NAME: Final = _term("tg:factName")
    HAS_FACT: Final = _term("tg:hasFact")
    KEY: Final = _term("tg:key")
    VALUE: Final = _term("tg:value")

    # hardware and models
    AMBIGUOUS: Final = _term("tg:ambiguous")
    ARCHITECTURE: Final = _term("tg:architecture")
    ASSUMED_DEVICE: Final = _term("tg:assumedDevice")
    CONTAINS_DEVICE: Final = _term("tg:containsDevice")
    FAMILY: Final = _term("tg:family")
    LEVEL: Final = _term("tg:level")

    # bottlenecks and causes
    CAUSED_BY: Final = _term("tg:causedBy")
    COMPARATOR: Final = _term("tg:comparator")
    HAS_CAUSE_EDGE: Final = _term("tg:hasCauseEdge")
    HAS_SYMPTOM: Final = _term("tg:hasSymptom")
    SOFTNESS: Final = _term("tg:softness")
    TARGET: Final = _term("tg:target")
    THRESHOLD: Final = _term("tg:threshold")

    # strategies
    ACCURACY: Final = _term("tg:accuracy")
    WORK: Final = _term("tg:work")
    APPLIES_WHEN: Final = _term("tg:appliesWhen")
    CARRIER: Final = _term("tg:carrier")
    CONFLICT: Final = _term("tg:conflict")
    CONFLICTS_WITH: Final = _term("tg:conflictsWith")
    CONTRAINDICATED_BY: Final = _term("tg:contraindicatedBy")
    CONTRAINDICATION: Final = _term("tg:contraindication")
    EXPRESSION: Final = _term("tg:expression")
    ENVIRONMENT: Final = _term("tg:isEnvironmentVariable")
    FLAG: Final = _term("tg:flag")
    FOR_FAMILY: Final = _term("tg:forFamily")
    FOR_HARDWARE: Final = _term("tg:forHardware")
    HAS_CAVEAT: Final = _term("tg:hasCaveat")
    IN_WORDS: Final = _term("tg:inWords")
    MADE_FROM: Final = _term("tg:madeFrom")
    MITIGATES: Final = _term("tg:mitigates")
    MITIGATION: Final = _term("tg:mitigation")
    OF_PARAMETER: Final = _term("tg:parameter")
    PHASE: Final = _term("tg:phase")
    READS_FACT: Final = _term("tg:readsFact")
    RELEASE_ORDER: Final = _term("tg:releaseOrder")
    REMOVED_IN: Final = _term("tg:removedIn")
    REQUIREMENT: Final = _term("tg:requirement")
    REQUIRES: Final = _term("tg:requires")
    SETS: Final = _term("tg:sets")
    SINCE: Final = _term("tg:since")
    SOFTWARE: Final = _term("tg:software")
    STACK: Final = _term("tg:stack")
    STRATEGY_KIND: Final = _term("tg:strategyKind")
    VERSION: Final = _term("tg:version")

    # faults
    CODE: Final = _term("tg:code")
    EXPLANATION: Final = _term("tg:explanation")
    LOG_TEXT: Final = _term("tg:logText")
    REMEDIED_BY: Final = _term("tg:remediedBy")
    REMEDY: Final = _term("tg:remedy")

    # recipes
    AUTHORITY: Final = _term("tg:authority")
    CASE_TITLE: Final = _term("tg:caseTitle")
    INSTANCE_COUNT: Final = _term("tg:instanceCount")
    LAYOUT: Final = _term("tg:layout")
    RECIPE_CONTEXT: Final = _term("tg:recipeContext")
    RECIPE_FAMILY: Final = _term("tg:recipeFamily")
    RECIPE_SETTINGS: Final = _term("tg:recipeSettings")
    REPORTED_MODEL: Final = _term("tg:reportedModel")
    ROLE: Final = _term("tg:role")
    SERVER_COUNT: Final = _term("tg:serverCount")
    SETTING_KEY: Final = _term("tg:settingKey")

    # effects
    EFFECT_KIND: Final = _term("tg:effectKind")
    EVIDENCE_OF: Final = _term("tg:evidenceOf")
    HAS_EFFECT: Final = _term("tg:hasEffect")
    LAST_EVIDENCE: Final = _term("tg:lastEvidence")
    OF_CONTEXT: Final = _term("tg:context")
    OF_STRATEGY: Final = _term("tg:strategy")
    RECENT_GAINS: Final = _term("tg:recentGains")
    SAMPLES: Final = _term("tg:n")
    SUM: Final = _term("tg:sumMicronats")
    SUM_SQUARES: Final = _term("tg:sumSquaresMicronats2")

    # outcomes
    ALPHA: Final = _term("tg:alpha")
    FAILED_RUNS: Final = _term("tg:failedRuns")
    LOG_GAIN: Final = _term("tg:logGain")
    LOG_GAIN_HIGH: Final = _term("tg:logGainHigh")
    LOG_GAIN_LOW: Final = _term("tg:logGainLow")
    MARGIN: Final = _term("tg:margin")
    P_VALUE: Final = _term("tg:pValue")
    PAIRS: Final = _term("tg:pairs")
    RECOMMENDATION: Final = _term("tg:recommendation")
    RESTS_ON: Final = _term("tg:restsOn")
    SCHEME: Final = _term("tg:scheme")
    TRIED: Final = _term("tg:tried")
    TRIED_AGAINST: Final = _term("tg:triedAgainst")
    VERDICT: Final = _term("tg:verdict")

    # energy
    CARBON_INTENSITY: Final = _term("tg:carbonIntensityGramsPerKilowattHour")
    END_HOUR: Final = _term("tg:endHour")
    REGION: Final = _term("tg:region")
    START_HOUR: Final = _term("tg:startHour")


UNITS: Final[Mapping[str, NamedNode]] = {
    symbol: _term(f"unit:{name}")
    for symbol, name in (
        ("s", "SEC"),
        ("J", "J"),
        ("W", "W"),
        ("B", "BYTE"),
        ("byte", "BYTE"),
        ("Hz", "HZ"),
        ("1", "UNITLESS"),
        ("1/s", "PER-SEC"),
        ("OP/s", "NUM-PER-SEC"),
        ("tokens/s", "NUM-PER-SEC"),
        ("samples/s", "NUM-PER-SEC"),
        ("samples_or_tokens/s", "NUM-PER-SEC"),
        ("images/s", "NUM-PER-SEC"),
        ("frames/s", "NUM-PER-SEC"),
        ("requests/s", "NUM-PER-SEC"),
        ("queries/s", "NUM-PER-SEC"),
        ("steps/s", "NUM-PER-SEC"),
        ("FLOP/s", "FLOPS"),
        ("B/s", "BYTE-PER-SEC"),
        ("degC", "DEG_C"),
        ("K", "K"),
        ("g", "GM"),
    )
}
"""QUDT unit of an SI symbol, for those that QUDT has.

Source:
    github.com/qudt/qudt-public-repo at 8b9168d29ab49142be1739bc54078c9320273e79, VOCAB_QUDT-UNITS-ALL.ttl.
"""
