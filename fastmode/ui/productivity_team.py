"""The parts of the Productivity page that speak of a team: money a month, and where review is the bottleneck."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode import productivity
from fastmode.charts import throughput as chart_throughput
from fastmode.i18n import N_, _
from fastmode.picture import Picture
from fastmode.team import monthly
from fastmode.team import throughput as throughput_of
from fastmode.trade import Judged
from fastmode.ui import state
from fastmode.ui.cards import mode
from fastmode.ui.chart import chart
from fastmode.ui.mirror import mirror

MOST_AGENTS = 8  # shown at least
_MONEY_FIELDS = {
    "team_size": N_("Team (developers)"),
    "tasks_per_month": N_("Tasks a month each"),
    "fast_share": N_("Share on the option"),
    "wage_usd_per_h": N_("Wage (USD/h)"),
}
_NO_BREAK = "\u00a0"


def small_print(text: str) -> None:
    """A line under a chart, with figures kept on one line with their percent sign."""
    st.caption(text.replace(" %", f"{_NO_BREAK}%"))


def money(picture: Picture, name: str) -> None:
    """Wage above which the option pays; hours and USD a month."""
    judged, e = picture.judged, picture.now
    s = e.scenario
    st.subheader(_("Does it pay in money?"), anchor=False)
    st.markdown(_wage_sentence(judged, name))
    columns = st.columns(len(_MONEY_FIELDS), gap="small", vertical_alignment="bottom")
    for column, (field, label) in zip(columns, _MONEY_FIELDS.items(), strict=True):
        with column:
            mirror(field, _(label))
    m = monthly(judged.task, judged.reference, s.team_size, s.tasks_per_month, s.fast_share, s.wage_usd_per_h)
    reference = str(e.catalog.presets.at[str(s.reference), "label"])
    rows = {
        _("developer time, h"): (m.hours_reference, m.hours_now),
        _("tokens, USD"): (m.token_usd_reference, m.token_usd_now),
        _("both, USD"): tuple(
            usd + hours * float(s.wage_usd_per_h)
            for usd, hours in ((m.token_usd_reference, m.hours_reference), (m.token_usd_now, m.hours_now))
        ),
    }
    table = pd.DataFrame(
        {
            _("a month"): list(rows),
            reference: [_amount(e.at(before)) for before, _now in rows.values()],
            _("the option"): [_amount(e.at(now)) for _before, now in rows.values()],
            _("difference"): [_amount(e.at(now) - e.at(before), signed=True) for before, now in rows.values()],
        }
    )
    right = {column: st.column_config.TextColumn(alignment="right") for column in table.columns[1:]}
    st.dataframe(table, hide_index=True, width="stretch", height="content", column_config=right, key="money_table")
    small_print(_month_sentence(judged, m))


def _amount(value: float, signed: bool = False) -> str:
    """A cell of the month: so many digits that columns can be added, one decimal below a hundred."""
    if not np.isfinite(value):
        return _("not published")
    rounded = round(value, 0 if abs(value) >= 100 else 1)
    return ("+" if signed and rounded > 0 else "") + fmt.number(rounded, 12)


def _wage_sentence(judged: Judged, name: str) -> str:
    e = judged.evaluation
    saved = e.at(judged.reference.time_per_task_s) - e.at(judged.task.time_per_task_s)
    extra = e.at(judged.task.token_cost_usd) - e.at(judged.reference.token_cost_usd)
    words = {"option": name, "now": fmt.money(float(e.scenario.wage_usd_per_h))}
    if not np.isfinite(extra):
        return _("{option} has no published price: only the hours below can be compared. Enter a price under Prices.").format(**words)
    words |= {"extra": fmt.money(abs(extra)), "saved": fmt.duration(abs(saved))}
    if saved == 0 and extra == 0:
        return _("{option} and the reference cost the same.").format(**words)
    if saved <= 0 and extra >= 0:
        return _("{option} saves no time and its tokens cost {extra} more an accepted task: it pays at no wage.").format(**words)
    if saved <= 0:
        wage = e.at(productivity.break_even_wage(np.array([-extra]), np.array([-saved])))
        if not np.isfinite(wage):
            return _("{option} takes the same time and its tokens cost {extra} less an accepted task: it pays at any wage.").format(**words)
        words["wage"] = _wage_text(wage)
        if wage > float(e.scenario.wage_usd_per_h):
            return _("{option} takes {saved} more an accepted task for {extra} less in tokens: it pays below {wage} an hour (now {now}: it does).").format(**words)
        return _("{option} takes {saved} more an accepted task for {extra} less in tokens: it pays below {wage} an hour (now {now}: it does not).").format(**words)
    wage = e.at(productivity.break_even_wage(np.array([extra]), np.array([saved])))
    if wage <= 0:
        return _("{option} saves {saved} an accepted task and its tokens cost no more: it pays at any wage.").format(**words)
    words["wage"] = _wage_text(wage)
    if wage > float(e.scenario.wage_usd_per_h):
        return _("{option} saves {saved} an accepted task for {extra} more in tokens: it pays above {wage} an hour (now {now}: it does not).").format(**words)
    return _("{option} saves {saved} an accepted task for {extra} more in tokens: it pays above {wage} an hour (now {now}: it does).").format(**words)


def _wage_text(usd_per_h: float) -> str:
    """A wage in whole dollars: 938, not 938.2, yet 1.68 where it is small."""
    return fmt.money(round(usd_per_h) if usd_per_h >= 10 else usd_per_h)


def _month_sentence(judged: Judged, m) -> str:
    e, s = judged.evaluation, judged.evaluation.scenario
    words = {
        "tasks": fmt.number(e.at(m.tasks)), "team": fmt.number(float(s.team_size)), "share": fmt.share(float(s.fast_share)),
        "hours": fmt.number(abs(e.at(m.hours_saved))), "net": fmt.money(abs(e.at(m.net_usd))),
    }  # fmt: skip
    if float(s.fast_share) == 0:
        return _("{tasks} tasks a month by {team} developers, none of them on the option: no difference.").format(**words)
    saves = e.at(m.hours_saved) >= 0
    first = _("{tasks} tasks a month by {team} developers, {share} of the tasks on the option: {hours} h saved.") if saves else _("{tasks} tasks a month by {team} developers, {share} of the tasks on the option: {hours} h more.")  # fmt: skip
    if not np.isfinite(e.at(m.net_usd)):
        return first.format(**words)
    second = _("In money, developer time included: {net} saved.") if e.at(m.net_usd) >= 0 else _("In money, developer time included: {net} more.")  # fmt: skip
    return f"{first} {second}".format(**words)


def throughput(judged: Judged, name: str) -> None:
    """Tasks an hour of the team against agents in parallel."""
    e, s = judged.evaluation, judged.evaluation.scenario
    st.subheader(_("Where is review the bottleneck?"), anchor=False)
    with st.container(width=280):
        mirror("agents", _("Parallel agents (a developer)"))
    found = {
        "scenario": throughput_of(judged.task, judged.inputs, s.agents, s.team_size),
        "reference": throughput_of(judged.reference, e.reference.inputs, s.agents, s.team_size),
    }
    most = max(MOST_AGENTS, int(s.agents))
    agents = np.linspace(0.0, most, 10 * most + 1)  # from none: one agent may already outrun its developer
    reference = str(e.catalog.presets.at[str(s.reference), "label"])
    labels = {"scenario": name, "reference": reference}
    streams = [
        chart_throughput.Stream(labels[kind], kind, e.at(one.machine_per_h) / float(s.agents) * agents, e.at(one.reviewers_per_h))
        for kind, one in found.items()
    ]
    figure, narrow = chart_throughput.throughput_figure(agents, streams, float(s.agents), mode(), scale=state.scale())
    text = " ".join(_bound_text(labels[kind], one, e) for kind, one in found.items())
    chart(figure, key="throughput", alt=text, height=chart_throughput.HEIGHT, height_narrow=chart_throughput.HEIGHT_NARROW, narrow=narrow)
    small_print(
        text + " " + _("Throughput is the smaller of what the agents attempt and what people can prompt, review and correct. An upper bound: switching between tasks is taken as free.")
    )


def _bound_text(label: str, one, e) -> str:
    words = {
        "option": label, "rate": fmt.number(e.at(one.per_h)), "kink": fmt.number(e.at(one.kink_agents)),
        "team": fmt.number(float(e.scenario.team_size)),
    }  # fmt: skip
    if not np.isfinite(e.at(one.kink_agents)):
        return _("{option}: {rate} accepted tasks an hour by a team of {team}; no person is needed, so the agents are the bottleneck.").format(**words)
    if e.at(one.kink_agents) <= 1.0:
        return _("{option}: {rate} accepted tasks an hour by a team of {team}; review is the bottleneck from the first agent on.").format(**words)
    if bool(np.ravel(one.review_bound)[0]):
        return _("{option}: {rate} accepted tasks an hour by a team of {team}; review is the bottleneck from {kink} agents a developer on.").format(**words)
    return _("{option}: {rate} accepted tasks an hour by a team of {team}; the agents are the bottleneck up to {kink} of them a developer.").format(**words)
