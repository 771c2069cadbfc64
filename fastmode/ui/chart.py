"""The only caller of a chart element: draws a Plotly figure in place.

`st.plotly_chart` builds a new chart whenever its data change, which costs time and loses the reader's zoom. The
component here keeps its element and hands the new figure to `Plotly.react`. The script it needs is served by the app
itself (`server.enableStaticServing`, see plotly_bundle).
"""

import json
import re
from functools import lru_cache
from pathlib import Path

import plotly
import plotly.graph_objects as go
import streamlit as st
from plotly.utils import PlotlyJSONEncoder

from fastmode.i18n import _
from fastmode.ui import state
from fastmode.ui.plotly_bundle import FILE_NAME, ensure_bundle

_ASSETS = Path(__file__).with_name("chart_component")
_NARROW_BELOW_PX = 760  # as in chart.js
_PAGE = (
    '[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { container: fastmode-page / inline-size; }'
)
_mount = st.components.v2.component(
    "fastmode_chart",
    css=(_ASSETS / "chart.css").read_text(encoding="utf-8"),
    js=(_ASSETS / "chart.js").read_text(encoding="utf-8"),
    isolate_styles=False,  # Plotly puts its style rules into the document and does not find them in a shadow root
)


def chart(
    fig: go.Figure,
    *,
    key: str,
    alt: str,
    height: int,
    height_narrow: int | None = None,
    narrow: dict | None = None,
) -> None:
    """Draw `fig`, keeping the reader's zoom and hidden legend entries while its data change.

    key: stable, unique on the page, of letters, digits, "_" and "-" (ValueError otherwise); also the default of
    `layout.uirevision`. Zoom on an axis is kept as long as the range the figure asks for stays the same.
    alt: text alternative, states the finding.
    height, height_narrow: px, the latter (default: the same) where the chart is narrower than 760 px. In a presentation the
    former grows with the type.
    narrow: Plotly layout that overrides the figure's there, as nested dicts; lists are replaced, not merged. Dragging
    does not zoom there (a finger must be able to scroll the page) unless `narrow` or the figure sets `dragmode`.

    The backgrounds are always transparent. Font family and colour follow the page's theme where neither the
    figure nor its template sets one (template "none" sets none); all other colours are the figure's.
    """
    if not re.fullmatch(r"[\w-]+", key, re.ASCII):
        raise ValueError(f"chart key {key!r} has characters other than letters, digits, _ and -")
    _prepare_bundle()
    height_narrow, height = height_narrow or height, round(state.scale() * height)
    if height_narrow != height:
        # Reserves the narrow height in a narrow page until the component runs and knows its width: no jump. The width of
        # the page's content counts, not the screen's: an open sidebar takes its part.
        reserve = f".st-key-{key} {{ flex-basis: {height_narrow}px !important; height: {height_narrow}px !important; }}"
        st.html(f"<style>{_PAGE} @container fastmode-page (width < {_NARROW_BELOW_PX}px) {{ {reserve} }}</style>")
    _mount(
        key=key,
        height=height,
        data={
            "key": key,
            "alt": alt,
            "height": height,
            "heightNarrow": height_narrow,
            "narrow": json.loads(json.dumps(narrow or {}, cls=PlotlyJSONEncoder)),
            # Text, because plotly's own encoder is the one that packs arrays and turns NaN into null.
            "figure": fig.to_json(validate=False),
            "bundle": _bundle_url(),
            "failed": _("This chart could not be drawn. Reload the page to try again. In words:"),
        },
    )


@lru_cache(maxsize=1)
def _prepare_bundle() -> bool:
    return ensure_bundle()


def _bundle_url() -> str:
    # From the server's root, because pages have addresses of their own; the version replaces a cached older script.
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"{'/' + base if base else ''}/app/static/{FILE_NAME}?v={plotly.__version__}"
