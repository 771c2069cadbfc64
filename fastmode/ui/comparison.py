"""On the Overview: the two fast modes of February 2026 side by side, and where all endpoints lie in speed and price."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from fastmode import endpoint_map as offers
from fastmode import format as fmt
from fastmode.catalog import Catalog
from fastmode.charts.endpoints import HEIGHT, HEIGHT_NARROW, endpoints_figure
from fastmode.charts.theme import Mode
from fastmode.comparison import Comparison, Statement, comparison
from fastmode.evaluate import Evaluation
from fastmode.i18n import _, get_language, ngettext
from fastmode.ui import state, view
from fastmode.ui.cards import mode
from fastmode.ui.chart import chart

_KEPT = "comparison"  # key of the session, of no widget
_STYLE = """<style>
.fm-sides { container-type: inline-size; font-size: 0.92rem; line-height: 1.42; }
.fm-sides table { border-collapse: collapse; width: 100%; table-layout: fixed; }
.fm-sides th, .fm-sides td { text-align: left; vertical-align: top; padding: 0.5rem 0.8rem 0.45rem 0; border: 0;
  border-top: 1px solid color-mix(in srgb, currentColor 18%, transparent); overflow-wrap: anywhere; }
.fm-sides thead th { border-top: 0; font-weight: 650; font-size: 1rem; }
.fm-sides thead th span { font-weight: 400; font-size: 0.84rem; opacity: 0.8; display: block; }
.fm-sides th:first-child { width: 21%; font-weight: 600; }
.fm-sides p { margin: 0 0 0.3rem; }
.fm-sides .from { font-size: 0.76rem; opacity: 0.85; white-space: nowrap; display: inline-block; max-width: 100%; font-variant-numeric: tabular-nums; }
.fm-sides .word { border: 1px solid color-mix(in srgb, currentColor 45%, transparent); border-radius: 3px; padding: 0 0.28rem; }
.fm-sides .from a { color: inherit; text-decoration: underline; text-underline-offset: 2px; }
@container (width < 620px) {
  .fm-sides thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .fm-sides table, .fm-sides tbody, .fm-sides tr, .fm-sides th, .fm-sides td { display: block; width: auto; }
  .fm-sides tbody th:first-child { width: auto; padding: 0.7rem 0 0.2rem; font-size: 1rem; }
  .fm-sides td { border-top: 0; padding: 0.1rem 0 0.35rem 0.7rem; border-left: 2px solid color-mix(in srgb, currentColor 18%, transparent);
    margin-bottom: 0.45rem; }
  .fm-sides td::before { content: attr(data-option); display: block; font-weight: 600; font-size: 0.84rem; opacity: 0.85; }
}
</style>"""


def draw(evaluation: Evaluation) -> None:
    """Draw both parts for a scenario with single values."""
    made = _made(evaluation)
    st.subheader(_("The two fast modes of February 2026"), anchor=False)
    _finding(made.heading)
    st.html(_STYLE + table_html(made))
    st.caption(
        _(
            "Each against its own standard model; modelled for the people and prices of this page. Surely: the whole 90 % band lies on one side, if the quoted speed is delivered. In brackets: the share of plausible worlds, to the nearest twentieth, in which the option takes less."
        )
    )
    _tasks(made)
    st.subheader(_("What speed costs"), anchor=False)
    _map()


def _made(evaluation: Evaluation) -> Comparison:
    """The comparison, kept while the session asks for the same."""
    asked = evaluation.scenario, get_language()
    known = st.session_state.get(_KEPT)
    if known is None or known[0] != asked:
        known = asked, comparison(evaluation.scenario, evaluation.catalog)
        st.session_state[_KEPT] = known
    return known[1]


def _finding(text: str) -> None:
    st.html(f'<p class="fm-verdict" role="heading" aria-level="3">{_whole_dates(_escaped(text))}</p>')


def _whole_dates(text: str) -> str:
    """With the hyphen of a month that is not broken at a line's end."""
    return re.sub(r"(\d{4})-(\d{2})", "\\1\u2011\\2", text)


# the table


def table_html(made: Comparison) -> str:
    """The comparison as an HTML table that becomes one column where it is narrow; every text is escaped."""
    heads = "".join(
        f'<th role="columnheader" scope="col">{escape(option)}<span>{escape(_("against {standard}").format(standard=standard))}</span></th>'
        for option, standard in zip(made.options, made.standards, strict=True)
    )
    body = ""
    for row in made.rows:
        cells = "".join(
            f'<td role="cell" data-option="{escape(option)}">{"".join(map(_statement, cell))}</td>'
            for option, cell in zip(made.options, row.cells, strict=True)
        )
        body += f'<tr role="row" data-row="{escape(row.key)}"><th role="rowheader" scope="row">{escape(row.question)}</th>{cells}</tr>'
    return (
        '<div class="fm-sides"><table role="table">'
        f'<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col"></th>{heads}</tr></thead><tbody role="rowgroup">{body}</tbody></table></div>'
    )


def _statement(said: Statement) -> str:
    parts = [f'<span class="word">{escape(_(said.word))}</span>'] if said.word else []
    parts += [escape(said.date)] if said.date else []
    parts += [_link(said.url)] if said.url else []
    return f'<p>{_escaped(said.text)}{f" <span class=from>{chr(0xA0).join(parts)}</span>" if parts else ""}</p>'


def _link(url: str) -> str:
    """A source in a tab of its own; a page of this app stays in this one."""
    site = urlsplit(url).netloc.removeprefix("www.")
    if site:
        return f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{escape(site)}</a>'
    return f'<a href="{escape(url)}">{escape(_("open it"))}</a>'


def _escaped(text: str) -> str:
    """Escaped, and with figures kept on one line with their percent sign."""
    return escape(text).replace(" %", "&nbsp;%")


def _tasks(made: Comparison) -> None:
    with st.expander(_("Every kind of task as a table"), key="suits_table"):
        tasks, n = made.tasks, len(made.options)
        columns = {_("task"): np.repeat(tasks.labels, n), _("option"): np.tile(made.options, len(tasks.labels))}
        names = _("change in time, %"), _("90 %, from"), _("90 %, to"), _("takes less time, % of worlds"), _("costs less, % of worlds")
        figures = tasks.change, tasks.low, tasks.high, tasks.p_faster, tasks.p_cheaper
        columns |= {name: 100 * values.ravel() for name, values in zip(names, figures, strict=True)}
        _frame(pd.DataFrame(columns), names)


def _frame(frame: pd.DataFrame, figures: tuple[str, ...]) -> None:
    config = {name: st.column_config.NumberColumn(format="%.3g") for name in figures}
    st.dataframe(frame, hide_index=True, width="stretch", column_config=config, placeholder=fmt.MISSING)


# the map


def _map() -> None:
    catalog = state.catalog()
    _finding(offers.fall_text(offers.price_fall(catalog)))
    cut = _("Early: dated up to the month before {month}, when the first tier at the lower price is dated; late: from {month} on.")
    era = view.choice("er", _("Part of the year"), cut.format(month=offers.LATE_FROM))
    shown = offers.drawn(catalog, era)
    figure, narrow = _figure(catalog, era, mode(), state.scale(), get_language())
    chart(figure, key="endpoints", alt=_alt(shown), height=HEIGHT, height_narrow=HEIGHT_NARROW, narrow=narrow)
    total, missing = len(offers.offers(catalog)), offers.undrawn(catalog)
    st.caption(
        _(
            "{drawn} of {total} endpoints have both an output speed and an output price; {shown} of them are drawn in full: those of this part of the year (the early part takes in what is older) and those dated by the year alone. Prices are list prices. The dashed line is where a tier is as many times dearer as it is faster."
        ).format(drawn=total - len(missing), total=total, shown=len(shown))
    )
    flagged = offers.flagged(catalog)
    if flagged:
        said = "\n".join(f"- {_plain(offers.check_text(t))}" for t in flagged)
        st.markdown(_("Where two speeds do not give the advertised multiple:") + "\n" + said)
    st.caption(
        _(
            "Rule: the tier's output speed over that of its standard tier, or of the same vendor's latest earlier model of the line where no speed of that is held, against the advertised multiple. More than {share} below it is below the ceiling, which an “up to” allows; more than {share} above contradicts it. A speed that the vendor states is checked too."
        ).format(share=fmt.share(offers.TOLERANCE))
    )
    _tiers_table(offers.tiers(catalog))
    _missing_table(missing)


@lru_cache(maxsize=16)
def _figure(catalog: Catalog, era: str, colors: Mode, scale: float, _language: str) -> tuple[go.Figure, dict]:
    """The picture of an era, kept because no slider moves it and finding room for its names takes a while."""
    every, tiers, shown = offers.offers(catalog), offers.tiers(catalog), offers.drawn(catalog, era)
    return endpoints_figure(
        shown,
        offers.arrows(catalog, era),
        [t for t in tiers if offers.in_era(t.offer.date, era)],
        colors,
        other_offers=[o for o in every if o.drawn and o not in shown],
        other_tiers=[t for t in tiers if not offers.in_era(t.offer.date, era)],
        scale=scale,
    )


def _plain(text: str) -> str:
    """For Markdown: figures keep their percent sign, and nothing is a mark-up."""
    return text.replace(" %", "\u00a0%").replace("$", "\\$")


def _alt(shown: list[offers.Offer]) -> str:
    parts = [f"{o.label} {fmt.number(o.tokens_per_s)} tok/s, {fmt.money(o.usd_per_mtok)}" for o in shown]
    return _("Output speed and output price of {n} endpoints: {list}.").format(n=len(shown), list="; ".join(parts))


def _tiers_table(tiers: tuple[offers.Tier, ...]) -> None:
    with st.expander(_("Speed tiers of the same weights as a table"), key="tiers_table"):
        names = _("price, x"), _("speed advertised, x"), _("speed from two speeds, x")
        columns = {
            _("tier"): [t.offer.label for t in tiers],
            names[0]: [t.price_multiple for t in tiers],
            names[1]: [t.advertised for t in tiers],
            names[2]: [t.realised for t in tiers],
            _("of the speed of"): [t.against.label if t.against else "" for t in tiers],
            _("check"): [_(offers.VERDICTS[t.verdict]) if t.verdict else _("nothing advertised") for t in tiers],
            _("date"): [t.offer.date for t in tiers],
            _("note"): [t.offer.notes for t in tiers],
        }
        _frame(pd.DataFrame(columns), names)


def _missing_table(missing: pd.DataFrame) -> None:
    n = len(missing)
    with st.expander(ngettext("{n} endpoint not on the map", "{n} endpoints not on the map", n).format(n=n), key="undrawn_table"):
        words = {(False, False): _("speed and price"), (False, True): _("speed"), (True, False): _("price")}
        what = [words[pair] for pair in zip(missing["has_speed"], missing["has_price"], strict=True)]
        columns = {_("endpoint"): missing["label"], _("provider"): missing["provider"], _("missing"): what, _("date"): missing["date"]}
        st.dataframe(pd.DataFrame(columns), hide_index=True, width="stretch")
