"""Options of configuration and start time, as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recommender.answers.carbon_choice import CarbonChoice

SHOWN = 4


def show_choice(choice: CarbonChoice, *, verbose: bool) -> None:
    """Print the options with the least carbon, effects apart."""
    from cli import output

    alpha, beta = choice.weights
    print("\nConfiguration and start together, best first.")
    print(f"Score: {alpha:g} x speed + {beta:g} x carbon saved, against the start at once.\n")
    for number, item in enumerate(choice.options if verbose else choice.options[:SHOWN], 1):
        begin, end = item.plan.start.astimezone(), item.plan.pieces[-1][1].astimezone()
        print(f"{number}. {item.name}, score {item.score:.2f}")
        print(f"   {begin:%a %H:%M} to {end:%a %H:%M}, {item.energy_kwh:.3g} kWh, {item.carbon_g:.3g} g CO2")
        print(f"   {item.effects}")
        print(f"   {item.efficiency:.3g} {item.unit} a gram; {item.cost:.2f}x the device hours")
    for name, why in choice.refused if verbose else ():
        print(f"   not {name}: {why}")
    for text in choice.notes:
        output.note(text)
