"""Indices of green tuning, and the effects of energy and of intensity apart.

CER = work per gram = 3.6e6 / (J per unit x g/kWh x PUE). GTI = (T1/T0 - 1) (eta1/eta0 - 1) (1 - t/t_ref),
with T the throughput, eta the work per joule, t the time that tuning took and t_ref what it is compared with.
Effects add in logs: ln(C1/C0) = ln(E1/E0) + ln(I1/I0).
"""

import math
from dataclasses import dataclass

from kg.errors import InputError
from kg.terms.units import J_PER_KWH


def carbon_efficiency(energy_j: float, g_per_kwh: float, pue: float = 1.0) -> float:
    """Units of work per gram CO2 (CER).

    Args:
        energy_j: Joule per unit of work.
        g_per_kwh: Intensity of the grid.
        pue: Energy of the site over that of its machines.

    Raises:
        InputError: Something is not above zero, or the PUE is below one.
    """
    if not (energy_j > 0 and g_per_kwh > 0 and pue >= 1):
        raise InputError(
            f"no carbon efficiency of {energy_j:g} J, {g_per_kwh:g} g/kWh and a PUE of {pue:g}",
            hint="energy and intensity above zero, PUE of 1 or more",
        )
    return J_PER_KWH / (energy_j * g_per_kwh * pue)


@dataclass(frozen=True, slots=True, kw_only=True)
class GreenTuningIndex:
    """The index with its factors; None where it is not defined.

    Attributes:
        speed: Gain of throughput, T1/T0 - 1.
        efficiency: Gain of work per joule, eta1/eta0 - 1.
        tuning: 1 - t/t_ref; None where nothing to compare with was given.
        undefined: Why there is no index; empty if there is.
    """

    speed: float
    efficiency: float
    tuning: float | None
    undefined: str = ""

    @property
    def value(self) -> float | None:
        """The product of the factors; None where it would mislead."""
        if self.undefined or self.tuning is None:
            return None
        return self.speed * self.efficiency * self.tuning


def green_tuning_index(
    throughput: tuple[float, float],
    work_per_joule: tuple[float, float],
    tuning_s: float,
    reference_s: float | None,
) -> GreenTuningIndex:
    """The index of a tuning: throughput and work per joule before and after, and what the tuning took.

    Two losses would multiply to a gain, so a loss has no index.

    Raises:
        InputError: A rate is not above zero, or a time is below it.
    """
    if not all(value > 0 for value in (*throughput, *work_per_joule)) or tuning_s < 0:
        raise InputError("an index needs throughput and efficiency above zero")
    speed = throughput[1] / throughput[0] - 1
    efficiency = work_per_joule[1] / work_per_joule[0] - 1
    if reference_s is None or not reference_s > 0:
        reason = "no time to compare the tuning with was given"
        return GreenTuningIndex(speed=speed, efficiency=efficiency, tuning=None, undefined=reason)
    tuning = 1 - tuning_s / reference_s
    losses = [
        name
        for name, value in (("throughput", speed), ("efficiency", efficiency), ("tuning", tuning))
        if value < 0
    ]
    reason = f"{' and '.join(losses)} got worse: a product would hide it" if losses else ""
    return GreenTuningIndex(speed=speed, efficiency=efficiency, tuning=tuning, undefined=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class CarbonEffects:
    """The change of emissions, by its causes.

    Attributes:
        log_energy: ln(E1/E0).
        log_intensity: ln(I1/I0).
    """

    log_energy: float
    log_intensity: float

    @property
    def log_carbon(self) -> float:
        """ln(C1/C0), the sum."""
        return self.log_energy + self.log_intensity

    def __str__(self) -> str:
        shares = (math.expm1(value) for value in (self.log_energy, self.log_intensity, self.log_carbon))
        return "energy {:+.1%}, intensity {:+.1%}, together {:+.1%}".format(*shares)


def effects_apart(energy_j: tuple[float, float], g_per_kwh: tuple[float, float]) -> CarbonEffects:
    """The effects of less energy and of a cleaner hour, before and after.

    Raises:
        InputError: Something is not above zero.
    """
    if not all(value > 0 for value in (*energy_j, *g_per_kwh)):
        raise InputError("effects need energies and intensities above zero")
    return CarbonEffects(
        log_energy=math.log(energy_j[1] / energy_j[0]), log_intensity=math.log(g_per_kwh[1] / g_per_kwh[0])
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredRun:
    """A run whose work is known beside its energy.

    Attributes:
        work: Units of work, such as tokens.
        duration_s: How long it ran.
        energy_j: Energy of all parts that are known in one way.
        carbon_g: Gram CO2; None where no intensity is known.
    """

    work: float
    duration_s: float
    energy_j: float
    carbon_g: float | None

    def __post_init__(self) -> None:
        """Refuse a run without work, time or energy."""
        if not (self.work > 0 and self.duration_s > 0 and self.energy_j > 0):
            raise InputError(
                f"no index of {self.work:g} units in {self.duration_s:g} s with {self.energy_j:g} J",
                hint="--work above zero, and logs with time and energy",
            )

    @property
    def g_per_kwh(self) -> float | None:
        """Mean intensity; None where there is none above zero."""
        return self.carbon_g / self.energy_j * J_PER_KWH if self.carbon_g else None

    @property
    def efficiency(self) -> float | None:
        """Units of work a gram (CER); None without an intensity."""
        intensity = self.g_per_kwh
        return None if intensity is None else carbon_efficiency(self.energy_j / self.work, intensity)


def indices_of(
    run: MeteredRun,
    before: MeteredRun | None = None,
    *,
    tuning_s: float = 0.0,
    reference_s: float | None = None,
) -> dict[str, str]:
    """The indices of a run by name, in words; with a run before tuning, GTI and the effects apart too."""
    found = {"work per gram (CER)": _unit_text(run.efficiency)}
    if before is None:
        return found
    found["work per gram before"] = _unit_text(before.efficiency)
    index = green_tuning_index(
        (before.work / before.duration_s, run.work / run.duration_s),
        (before.work / before.energy_j, run.work / run.energy_j),
        tuning_s,
        reference_s,
    )
    factors = f"throughput {index.speed:+.1%}, work per joule {index.efficiency:+.1%}"
    if index.tuning is not None:
        factors += f", time left of the reference {index.tuning:.1%}"
    value = f"not defined ({index.undefined})" if index.value is None else f"{index.value:.4g}"
    found["green tuning index (GTI)"] = f"{value}; {factors}"
    if run.g_per_kwh and before.g_per_kwh:
        effects = effects_apart(
            (before.energy_j / before.work, run.energy_j / run.work), (before.g_per_kwh, run.g_per_kwh)
        )
        found["carbon a unit of work"] = str(effects)
    return found


def _unit_text(value: float | None) -> str:
    return "not known: no intensity" if value is None else f"{value:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedChoice:
    """A configuration to be weighed.

    Attributes:
        name: Of the configuration.
        throughput: Work a second.
        carbon_g: Gram a unit of work.
    """

    name: str
    throughput: float
    carbon_g: float


def weigh(choices: list[WeighedChoice], *, alpha: float, beta: float) -> list[tuple[float, WeighedChoice]]:
    """Rank by alpha T/T0 + beta C0/C; the first of the list is what both are relative to.

    Raises:
        InputError: No choice, or weights that are none.
    """
    if not choices or not (min(alpha, beta) >= 0 and 0 < alpha + beta < math.inf):
        raise InputError(f"weights alpha {alpha:g} and beta {beta:g}", hint="zero or more, not both zero")
    base = choices[0]
    scored = [
        (alpha * item.throughput / base.throughput + beta * base.carbon_g / item.carbon_g, item)
        for item in choices
    ]
    return sorted(scored, key=lambda pair: -pair[0])
