"""The rank that is behind where a collective timed out."""

from recommender.diagnosis.rank_sequences import MARK, RankSequences


def behind(*lines: tuple[str, int]) -> object:
    sequences = RankSequences()
    for head, number in lines:
        sequences.take(b"[%s] %sSeqNum=%d, OpType=ALLREDUCE)" % (head.encode(), MARK, number))
    return sequences.behind()


def test_the_lowest_number_of_a_group_is_behind() -> None:
    assert behind(("Rank 0", 12), ("Rank 1", 12), ("Rank 5", 11)) == ((5,), 11, 12)
    group = "PG ID 1 PG GUID 3(TP) "
    assert (
        behind(("Rank 0", 12), (f"{group}Rank 0", 3), (f"{group}Rank 1", 3)) is None
    )  # numbers of two groups
    assert behind(("Rank 0", 11), ("Rank 1", 11), ("Rank 2", 12)) is None  # most of them
    assert behind() is None
