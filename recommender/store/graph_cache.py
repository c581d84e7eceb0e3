"""The graph as a cache: made from the batches, caught up, and compared with them."""

from kg.rows import batches
from kg.rows.trials import TrialStore
from kg.rows.trials_file import TrialsFile
from kg.triples.finders import batch_records
from kg.triples.graph import GraphStore
from kg.triples.serialisation import newest_batch
from kg.triples.snapshots import publish
from recommender.files import WorkspaceFiles

BULK_BYTES = 1_000_000
"""A change of so many is written as a bulk, which is fast for millions of triples and slow for tens."""


def catch_up(graph: GraphStore, file: TrialsFile) -> bool:
    """Put into the graph what it may lack; return whether there was anything."""
    there, is_behind = newest_batch(graph), False
    for change in batches.changes_after(file, there):
        if not there and not change.removed and len(change.added) > BULK_BYTES:
            graph.load_plain(change.added)
        else:
            graph.replace_plain(change.removed, change.added)
        is_behind = True
    return is_behind


def graph_mismatch(graph: GraphStore, file: TrialsFile) -> str:
    """The fault of a graph that is not made from the batches of a file; empty if it is, or is only behind."""
    there = newest_batch(graph)
    if not there:
        return ""
    sealed = batches.seal_of(file, there)
    if sealed is None:
        return f"the graph ends with batch {there}, the rows with batch {batches.newest(file)[0]}"
    if batch_records(graph)[there].seal != sealed:
        return f"batch {there} has another seal in the graph than with the rows"
    return ""


def make_graph(layout: WorkspaceFiles, *, after: int = 0) -> None:
    """Make the graph of a workspace from its batches, in a folder that has none, and publish it.

    Args:
        layout: The workspace.
        after: Number of a snapshot elsewhere that the published one follows.

    Raises:
        WorkspaceError: The batches are damaged, or the graph cannot be written.
    """
    with TrialStore(layout.trials, read_only=True) as trials, GraphStore(layout.live) as graph:
        catch_up(graph, trials.file)
        publish(graph, layout.graph, after=after)
