"""The layout of a model whose sizes are not known, so that nothing prices one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kg.nouns.layout import DEGREES, ParallelLayout
from kg.terms.dialects import degrees_of
from recommender.cost_model.layout_domain import powers
from recommender.cost_model.priced_step import PricedStep
from recommender.ranking.starts.layout_choice import choose_layouts
from recommender.ranking.starts.layout_flags import SPLITTING

if TYPE_CHECKING:
    from recommender.ranking.starts.draft import StartDraft


def unpriced_layout(draft: StartDraft) -> ParallelLayout | None:
    """The layout of a model whose sizes are not known: as recipes have it, or a replica on each device."""
    situation, devices = draft.situation, draft.situation.devices
    if not devices:
        return None
    now = degrees_of(situation.current or {})
    degrees = draft.degrees or {DEGREES[name]: int(size) for name, size in now.items() if name in DEGREES}
    if degrees:
        layout = replace(ParallelLayout.of_degrees(degrees), dp=1)
        if devices % layout.devices == 0:
            return replace(layout, dp=devices // layout.devices)
    width = next((one for one in powers(devices) if one >= draft.least_devices), 1)
    if situation.is_training:
        return ParallelLayout(dp=devices)
    plain = ParallelLayout(tp=width, dp=devices // width)
    if situation.framework.id not in SPLITTING or not draft.weighed:
        return plain
    experts = {1, devices} if situation.model.is_mixture else {1}
    layouts = [
        ParallelLayout(tp=width, dp=devices // width, ep=spread)
        for width in powers(devices)
        if width >= plain.tp
        for spread in experts
    ]
    options = [PricedStep(layout=layout) for layout in layouts]
    return choose_layouts(options, draft.for_layout(), training=False)[0].option.layout
