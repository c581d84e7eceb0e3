"""The layout of a model whose sizes are not known, so that nothing prices one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kg.errors import InfeasibleError, InputError
from kg.nouns.layout import DEGREES, ParallelLayout
from kg.terms.dialects import positive, statement
from recommender.cost_model.layout_domain import divisors, powers
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
    now = statement(situation.current or {}, situation.framework.id, devices=devices).facts
    degrees = draft.degrees or {DEGREES[n]: size for n in DEGREES if (size := positive(now.get(n)))}
    if degrees:
        layout = ParallelLayout.of_degrees(degrees)
        if "data_parallel" not in degrees:
            layout = replace(layout, dp=max(devices // layout.devices, 1))
        if layout.devices < devices:
            draft.notes.append(f"{layout.devices} of {devices} devices are used: {layout} is told")
        runs = situation.problem.situation.has_script
        if layout.devices <= devices:
            of_one = layout.devices if situation.model.is_mixture else layout.tp * layout.pp
            if of_one < draft.least_devices and runs:
                draft.notes.append("by its weights it does not fit, but your script says that it runs")
            elif of_one < draft.least_devices:
                raise InfeasibleError(f"{layout} leaves a device more weights than it holds")
            return layout
        if not runs:
            raise InputError(f"current: its parallel sizes take {layout.devices} devices, of {devices}")
    width = next((one for one in divisors(devices) if one >= draft.least_devices), 1)
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
