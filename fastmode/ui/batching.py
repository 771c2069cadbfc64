"""The Batching page: the bus, what a batch trades, and what the first token waits for, as tabs."""

from __future__ import annotations

from functools import partial

from fastmode.scenario import Scenario
from fastmode.ui import batching_bus, batching_first_token, batching_frontier, state, view


def draw(scenario: Scenario) -> None:
    """Draw the page; only the open tab is computed."""
    now = state.picture(scenario, "batching").now
    bodies = (batching_bus.draw, batching_frontier.draw, batching_first_token.draw)
    view.draw_open_tab("batching", *(partial(body, now) for body in bodies))
