"""The kernels of a rank set beside the same kernels of an earlier run of the job."""

from dataclasses import dataclass

import numpy as np

from ingest.profiles.facts.kernels import Floats, Integers, Kernels, Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The n compute kernels of a rank beside the m of the same rank in an earlier run.

    Attributes:
        is_usual: Kernels whose like came at least as often before, shape (n,).
        grown_us: Time that usual kernels add to the step beyond the mean of their like, shape (n,): the like
            that take less are set off against it; 0 for the others.
        exclusive: Share of each kernel's time that lengthens the step, shape (n,).
        before: Compute kernels of the earlier run.
        group: Number of the group of like kernels that each belongs to, shape (n,).
        group_before: The same for the earlier run, shape (m,).
    """

    is_usual: Mask
    grown_us: Floats
    exclusive: Floats
    before: Kernels
    group: Integers
    group_before: Integers

    def mean_before(self, values: Floats) -> Floats:
        """Mean over the like of each kernel in the earlier run, shape (m,) to (n,); nan where unknown."""
        count = int(max(self.group.max(), self.group_before.max())) + 1
        return group_means(values, self.group_before, count)[self.group]


def group_means(values: Floats, group: Integers, count: int) -> Floats:
    """Mean of the values that are not nan in each group, shape (count,); nan for a group of none."""
    known = ~np.isnan(values)
    n = np.bincount(group[known], minlength=count)
    total = np.bincount(group[known], weights=values[known], minlength=count)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)
