"""The Hardware page: where a model fits, chips in series, power and money, and all parts, as tabs."""

from __future__ import annotations

from functools import partial

from fastmode.scenario import Scenario
from fastmode.ui import hardware_fit, hardware_parts, hardware_power, hardware_series, state, view


def draw(scenario: Scenario) -> None:
    """Draw the page; only the open tab is computed."""
    now = state.picture(scenario, "hardware").now
    bodies = (hardware_fit.draw, hardware_series.draw, hardware_power.draw, hardware_parts.draw)
    view.draw_open_tab("hardware", *(partial(body, now) for body in bodies))
