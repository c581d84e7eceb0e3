"""A curve from few points: near the shipped one, and nearer to the truth than it."""

import numpy as np

from recommender.green.power_curve import PowerCurve, shipped_curve
from tools.green.power_curve_fit import fit_cap, fit_clock

CURVE = PowerCurve(clock_bound=1.3, sharpness=6.0, static_share=0.35, exponent=3.2)


def test_three_points_find_the_curve() -> None:
    prior = shipped_curve("clock").curve
    points = [
        (clock, 3 * float(CURVE.time(clock)), 70 * float(CURVE.energy(clock))) for clock in (0.5, 0.75, 1.0)
    ]
    fitted = fit_clock(points, prior)
    clocks = np.linspace(0.5, 1, 20)
    error = np.abs(fitted.energy(clocks) / CURVE.energy(clocks) - 1).mean()
    assert error < 0.02
    assert error < 0.6 * np.abs(prior.energy(clocks) / CURVE.energy(clocks) - 1).mean()


def test_one_point_leaves_the_shipped_curve() -> None:
    prior = shipped_curve("clock").curve
    assert fit_clock([(1410.0, 0.05, 24.0)], prior) == prior


def test_points_under_caps_are_fitted_too() -> None:
    prior = shipped_curve("cap").curve
    caps = np.array([100.0, 175.0, 250.0])
    truth = PowerCurve(
        clock_bound=0.6, sharpness=20, static_share=0.3, exponent=4, cap_reach=0.92, cap_sharpness=6
    )
    time, energy = truth.under_cap(caps, 210.0, 250.0)
    points = [
        (cap, t, 210 * e / t) for cap, t, e in zip(caps.tolist(), time.tolist(), energy.tolist(), strict=True)
    ]
    fitted = fit_cap(points, prior)
    inner = np.array([125.0, 150.0, 200.0])
    wanted = truth.under_cap(inner, 210.0, 250.0)[1]
    assert np.abs(fitted.under_cap(inner, 210.0, 250.0)[1] / wanted - 1).max() < 0.06
