"""The commands of ``tunegraph`` that stand alone."""
