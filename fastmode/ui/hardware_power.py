"""The tab "Power and money" of the Hardware page: joules and megawatts, cost by part, and the two ways to go fast."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fastmode import format as fmt
from fastmode.charts import power as power_chart
from fastmode.charts import price_range
from fastmode.charts import two_ways as ways_chart
from fastmode.evaluate import Evaluation
from fastmode.i18n import _, ngettext
from fastmode.parts import ANNOUNCED, Parts, parts_of
from fastmode.power import (
    CHIP,
    FACILITY,
    LEVEL,
    SYSTEM,
    TERA,
    joules_ends,
    joules_per_token,
    parameters_held,
    power_w,
    site_for_bytes,
    site_for_traffic,
)
from fastmode.scenario import TRAFFIC
from fastmode.side import Side
from fastmode.two_ways import TwoWays, deployment_of, published_tiers, two_ways
from fastmode.ui import state, view
from fastmode.ui.cards import draw_heading, draw_note, mode
from fastmode.ui.chart import chart
from fastmode.ui.mirror import mirror
from fastmode.verdict import option_name

TRILLION = 1e12
PACE_APART = 0.1  # as far as the modelled speed may be off the quoted one without a word
BITS = {"bf16": 16, "fp8": 8, "fp4": 4}


def draw(evaluation: Evaluation) -> None:
    """Draw the tab for a scenario of single values."""
    e, found = evaluation, parts_of(evaluation)
    draw_heading(_finding(e))
    if note := pace_note(e):
        draw_note(note)
    _power(e, found)
    _money(e, found)
    _ways(e)


def _reference(e: Evaluation) -> str:
    return str(e.catalog.presets.at[str(e.scenario.reference), "label"])


def _finding(e: Evaluation) -> str:
    """What a token takes and costs here and in the reference."""
    if not np.isfinite(e.at(e.now.modelled_tokens_per_s)):
        return _("No figure for {option}: {reason}.").format(option=option_name(e), reason=e.service_reason(e.now))
    here = _("{option} takes {energy} and costs its provider {cost} per million output tokens, modelled").format(
        option=option_name(e), energy=_energy_text(e, e.now), cost=_cost_text(e.now)
    )
    if str(e.scenario.preset) == str(e.scenario.reference) or not np.isfinite(e.at(e.reference.modelled_tokens_per_s)):
        return here + "."
    there = _("{reference} {energy} and {cost}").format(reference=_reference(e), energy=_energy_text(e, e.reference), cost=_cost_text(e.reference))
    return f"{here}; {there}."


def pace_note(e: Evaluation) -> str:
    """What energy and cost would be at the quoted speeds, where the stand-in does not run at them; empty where it does."""
    made = []
    sides = [(option_name(e), e.now)] + ([(_reference(e), e.reference)] if str(e.scenario.preset) != str(e.scenario.reference) else [])
    for name, side in sides:
        quoted, modelled = e.at(side.tokens_per_s), e.at(side.modelled_tokens_per_s)
        if not abs(quoted / modelled - 1.0) > PACE_APART:  # also where one is unknown
            continue
        joules = float(joules_per_token(side.service, float(e.scenario.pue), e.catalog)[FACILITY, 0])
        cost = float(side.provider_usd_per_mtok[1, 0])
        made.append(
            _("{option} is modelled at {modelled} tok/s where {quoted} are quoted; at the quoted speed it would be {energy} and {cost}.").format(
                option=name, modelled=fmt.number(modelled), quoted=fmt.number(quoted), energy=fmt.joules(joules * modelled / quoted),
                cost=fmt.money(cost * modelled / quoted),
            )  # fmt: skip
        )
    return " ".join([_("Energy and cost are those of the stand-in at its own speed."), *made]) if made else ""


def _energy_text(e: Evaluation, side: Side) -> str:
    """Joules per output token at the facility, with what they are made of and the band of the speed."""
    joules = joules_per_token(side.service, float(e.scenario.pue), e.catalog)[:, 0]
    if np.isnan(joules[FACILITY]):
        return _("an unknown energy (power not published)")
    low, high = (float(end[FACILITY, 0]) for end in joules_ends(side.service, float(e.scenario.pue), e.catalog))
    words = {"value": fmt.joules(joules[FACILITY]), "level": LEVEL, "ends": power_chart.ends_text(joules[FACILITY], low, high)}
    if np.isnan(joules[SYSTEM]):
        return _("{value} per output token ({level} %: {ends}; chips alone, with PUE)").format(**words)
    return _("{value} per output token ({level} %: {ends}; facility)").format(**words)


def _cost_text(side: Side) -> str:
    low, mid, high = (float(v) for v in side.provider_usd_per_mtok[:, 0])
    if np.isnan(mid):
        return _("an unknown sum (no price of its chips)")
    return _("{mid} ({low}-{high} by price of a chip-hour)").format(mid=fmt.money(mid), low=fmt.money(low), high=fmt.number(high))


# --- power ------------------------------------------------------------------------------------------------------------


def _power(e: Evaluation, found: Parts) -> None:
    st.subheader(_("What does a token take, and what does it take to stand ready?"), anchor=False)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        chosen = view.choice("tb", _("Weights to hold"), _("The stand-in of the option with its cache, or the weights alone of a closed model of that size. Nobody publishes the size of a closed model."))
        mirror("pue")
    held = float(chosen) * TERA if chosen != "own" else np.nan
    rows = _power_rows(e, found, held)
    if not rows:
        if np.isfinite(held):
            draw_note(_holding(e, held))
        return
    title = _("to hold {size} TB of weights").format(size=chosen) if np.isfinite(held) else _at_rate(float(e.scenario.requests_per_s))
    figure, narrow = power_chart.power_figure(rows, title, mode(), scale=state.scale())
    alt = " ".join(f"{power_chart.row_text(row)}." for row in rows)
    chart(figure, key="power", alt=alt, height=power_chart.height(len(rows)), height_narrow=power_chart.height_narrow(len(rows)), narrow=narrow)
    if np.isfinite(held):
        draw_note(_holding(e, held))
    st.caption(_power_note(e, found))
    _power_table(e, found, held)


def _at_rate(rate: float) -> str:
    return ngettext("to serve {rate} request/s", "to serve {rate} requests/s", 1 if rate == 1 else 2).format(rate=fmt.number(rate))


def _power_rows(e: Evaluation, found: Parts, held: float) -> list[power_chart.PowerRow]:
    """The option, its reference, and the parts whose system power a source gives, or that are SRAM machines with any power."""
    pue, rows = float(e.scenario.pue), []
    sides = [(option_name(e), "scenario", e.now)]
    if str(e.scenario.preset) != str(e.scenario.reference):
        sides.append((_reference(e), "reference", e.reference))
    for label, kind, side in sides:
        s = side.service
        if np.isfinite(s.tpot_s[0]):
            site = site_for_bytes(held, s.hardware[:1], pue, e.catalog) if np.isfinite(held) else site_for_traffic(e, s)
            joules = joules_per_token(s, pue, e.catalog)[:, 0]
            ends = [end[FACILITY, 0] for end in joules_ends(s, pue, e.catalog)]
            part = str(e.catalog.hardware["label"].iloc[int(s.hardware[0])])
            about = _("{chips} {part}, batch {batch}").format(chips=fmt.count(s.n_chips[0]), part=part, batch=fmt.number(s.batch[0]))
            rows.append(_row(label, about, kind, joules, ends, site.megawatts[:, 0], site.chips[0]))
    watts = power_w(np.arange(len(found.own)), pue, e.catalog)
    sram = (e.catalog.hardware["memory_kind"] == "SRAM").to_numpy()
    chosen = ~found.own & np.isfinite(found.tokens_per_s) & (np.isfinite(watts[SYSTEM]) | (sram & np.isfinite(watts[CHIP])))
    site, bands = _sites(e, found, held), joules_ends(found.service, pue, e.catalog)
    for i in found.order[chosen[found.order]]:
        about = _("{chips} chips, batch {batch}").format(chips=fmt.count(found.service.n_chips[i]), batch=fmt.number(found.batch))
        rows.append(_row(_part_name(e, str(e.catalog.hardware.index[i])), about, "part", found.joules[:, i], [end[FACILITY, i] for end in bands], site.megawatts[:, i], site.chips[i]))
    return rows


def _sites(e: Evaluation, found: Parts, held: float):
    """What stands in the building on every part."""
    if np.isfinite(held):
        return site_for_bytes(held, np.arange(len(found.own)), float(e.scenario.pue), e.catalog)
    return site_for_traffic(e, found.service)


def _row(label, about, kind, joules, ends, megawatts, chips) -> power_chart.PowerRow:
    low, high = map(float, ends)
    return power_chart.PowerRow(label, about, kind, tuple(joules), low, high, tuple(megawatts), float(chips), bool(np.isnan(joules[SYSTEM])))


def _holding(e: Evaluation, held: float) -> str:
    """How many wafers and how many GPUs hold weights of that size, and at what power."""
    hardware = e.catalog.hardware
    site = site_for_bytes(held, np.arange(len(hardware)), float(e.scenario.pue), e.catalog)
    known = (hardware["shown"] == 1).to_numpy() & np.isfinite(site.megawatts[SYSTEM])
    sram = (hardware["memory_kind"] == "SRAM").to_numpy()
    held_by = " ".join(
        _("{chips} {part} of {memory} GB hold them, at {kw} kW each {system} MW of systems, {facility} MW at the facility.").format(
            chips=fmt.count(site.chips[i]), part=hardware["label"].iloc[i], memory=fmt.number(hardware["memory_gb"].iloc[i]),
            kw=fmt.number(hardware["system_power_w_per_chip"].iloc[i] / 1e3), system=fmt.number(site.megawatts[SYSTEM, i]),
            facility=fmt.number(site.megawatts[FACILITY, i]),
        )
        for kind in (sram, ~sram)
        for i in np.flatnonzero(known & kind)[np.argsort(site.chips[known & kind])][:1]
    )  # fmt: skip
    params = ", ".join(
        _("{n} trillion parameters in {bits} bit").format(n=fmt.number(n / TRILLION), bits=BITS[name])
        for name, n in parameters_held(held, e.catalog).items()
    )
    return _("{size} TB of weights are {params}. {held_by} Weights alone, on all of the memory: no room for a cache, and no word of speed.").format(
        size=fmt.number(held / TERA), params=params, held_by=held_by
    )


def _power_note(e: Evaluation, found: Parts) -> str:
    text = _("Peak power (TDP, or the system's maximum) for as long as the chips run, prefill included: real draw is lower. Facility: system power, else that of the chips alone, times PUE {pue}. Parts serve the option's stand-in at batch {batch} on the fewest chips that fit; the reference its own stand-in and batch.").format(
        pue=fmt.number(float(e.scenario.pue)), batch=fmt.number(found.batch)
    )
    if str(e.scenario.load) == TRAFFIC:
        text += " " + _("The option's energy counts its chips also while they wait for requests.")
    if view.chosen("tb") == "own":
        text += " " + _("Megawatts: as many whole deployments as carry the requests/s set under Serving, {tokens} output tokens each.").format(
            tokens=fmt.number(float(e.scenario.n_out) / float(e.scenario.calls))
        )
    return text


def _power_table(e: Evaluation, found: Parts, held: float) -> None:
    with st.expander(_("Power on all parts as a table"), key="power_table"):
        site, order = _sites(e, found, held), found.order
        columns = {_("part"): np.array(found.labels), _("state"): np.array([_(word) for word in found.state])}
        columns |= {
            _("chips, all deployments"): site.chips,
            _("J per output token, chips alone"): found.joules[CHIP],
            _("J per output token, system"): found.joules[SYSTEM],
            _("J per output token, facility"): found.joules[FACILITY],
            _("MW, chips alone"): site.megawatts[CHIP],
            _("MW, system"): site.megawatts[SYSTEM],
            _("MW, facility"): site.megawatts[FACILITY],
        }
        frame = pd.DataFrame({name: values[order] for name, values in columns.items()})
        numbers = {name: st.column_config.NumberColumn(format="%.3g") for name in frame.columns[3:]}
        st.dataframe(frame, hide_index=True, width="stretch", column_config=numbers, placeholder=fmt.MISSING)


# --- money ------------------------------------------------------------------------------------------------------------


def _money(e: Evaluation, found: Parts) -> None:
    st.subheader(_("What does a token cost on each part?"), anchor=False)
    low, mid, high = found.usd_per_mtok
    known = np.flatnonzero(np.isfinite(mid))
    if not known.size:
        st.caption(_("No cost to show: {reason}.").format(reason=e.service_reason(e.now) or _("no price of any part that can serve this is known")))
        return
    listed = e.at(e.now.list_price_out_usd_per_mtok)
    ends = found.usd_ends
    derived = np.broadcast_to(found.evaluation.now.chip_hour_derived, mid.shape)
    kinds = np.where(found.own, "scenario", np.where(found.state == ANNOUNCED, "announced", "part"))
    rows = [
        price_range.PriceRow(
            found.labels[i], str(kinds[i]), float(low[i]), float(mid[i]), float(high[i]), float(ends[0][i]), float(ends[1][i]), bool(derived[i]),
            listed if found.own[i] else np.nan,
        )
        for i in known[np.argsort(mid[known], kind="stable")]
    ]  # fmt: skip
    figure, narrow = price_range.price_range_figure(rows, mode(), scale=state.scale())
    alt = _("Provider cost of a million output tokens: {rows}.").format(rows=", ".join(f"{row.label} {fmt.money(row.mid)}" for row in rows))
    chart(figure, key="price_range", alt=alt, height=price_range.height(len(rows)), height_narrow=price_range.height_narrow(len(rows)), narrow=narrow)
    st.caption(_money_note(e, found, listed))


def _money_note(e: Evaluation, found: Parts, listed: float) -> str:
    text = _("Provider cost, modelled, at batch {batch} and {used} utilisation; the prefill of the requests is in it. Broad: 5th to 95th percentile of chip-hour prices at the modelled speed. Thin: the 90 % band of the modelled speed at the middle price.").format(
        batch=fmt.number(found.batch), used=fmt.share(float(e.scenario.utilisation))
    )
    if str(e.scenario.load) == TRAFFIC:
        text += " " + _("All parts are kept busy at the batch that users meet; the sentence above counts the option's chips also while they wait.")
    text += " " + (
        _("The list price is for output alone; input is billed besides.") if np.isfinite(listed) else _("Nobody publishes a list price of {option}.").format(option=option_name(e))
    )
    absent = [label for label, usd, speed in zip(found.labels, found.usd_per_mtok[1], found.tokens_per_s, strict=True) if np.isnan(usd) and np.isfinite(speed)]
    if absent:
        text += " " + _("No price known: {parts}.").format(parts=", ".join(absent))
    return text


# --- two ways ---------------------------------------------------------------------------------------------------------


def _ways(e: Evaluation) -> None:
    st.subheader(_("A smaller batch on the same chip, or the same batch on a newer one?"), anchor=False)
    found = two_ways(deployment_of(e), e.catalog)
    if found.reason:
        st.caption(_("No figure for {reference}: {reason}.").format(reference=_reference(e), reason=found.reason))
        return
    goal = e.at(e.now.tokens_per_s) / e.at(e.reference.tokens_per_s)
    goal = goal if np.isfinite(goal) and goal > 1.0 else np.nan
    home = _home(e, found)
    draw_note(ways_text(e, found, goal))
    way, labels = found.smaller, e.catalog.hardware["label"]
    path = ways_chart.Path(way.batch, way.speed, way.speed_low, way.speed_high, way.cost[1])
    marks = [*_part_marks(e, found), *_tier_marks(e)]
    figure, narrow = ways_chart.two_ways_figure(path, marks, home, goal, _("{option}: {ratio}").format(option=option_name(e), ratio=fmt.ratio(goal)), mode(), scale=state.scale())
    chart(figure, key="two_ways", alt=ways_text(e, found, goal), height=ways_chart.HEIGHT, height_narrow=ways_chart.HEIGHT_NARROW, narrow=narrow)
    absent = [str(labels[i]) for i, cost in zip(found.hardware, found.newer.cost[1], strict=True) if np.isnan(cost)]
    st.caption(
        _("Modelled, with the stand-in and lengths of {home} throughout; parts of the same year or later and SRAM machines, on as many chips, or on the fewest that fit where that is more or an SRAM machine is left. Across: the 90 % band of the ratio of two modelled speeds. Upright: the range of chip-hour prices over the middle price of the reference's chips. Hollow: published tiers, list price over that of the standard tier, speed as measured or the vendor's \u201cup to\u201d.").format(home=home)
        + " " + _absent(absent, len(found.hardware))
    )
    _ways_table(e, found)


def _absent(parts: list[str], of: int) -> str:
    """Which parts have no cost, so no place in the figure."""
    if len(parts) == of:
        return _("No price of the reference's chips is known, so no part has a cost ratio: see the table for speeds.")
    return _("Without a cost, so in the table only: {parts}.").format(parts=", ".join(parts)) if parts else ""


def _home(e: Evaluation, found: TwoWays) -> str:
    part = str(e.catalog.hardware.at[str(found.deployment.hardware), "label"])
    return _("{reference} on {chips} {part} at batch {batch}").format(
        reference=_reference(e), chips=fmt.count(found.chips), part=part, batch=fmt.number(found.deployment.batch_size)
    )


def ways_text(e: Evaluation, found: TwoWays, goal: float) -> str:
    """Which of the two ways reaches the option's speed, and at what cost."""
    part = str(e.catalog.hardware.at[str(found.deployment.hardware), "label"])
    smaller = found.smaller
    if np.isnan(goal):
        return _("{option} is not faster than {reference}. On {part} one request at a time is {most} as fast as batch {batch}, at {cost} the cost per output token.").format(
            option=option_name(e), reference=_reference(e), part=part, most=fmt.ratio(smaller.speed[0]), batch=fmt.number(found.deployment.batch_size), cost=fmt.ratio(smaller.cost[1, 0])
        )
    at = found.batch_for(goal)
    words = {"option": option_name(e), "reference": _reference(e), "goal": fmt.ratio(goal), "part": part, "chips": fmt.count(found.chips)}
    if at >= 0:
        text = _("{option} is {goal} as fast as {reference}. A smaller batch on the same {chips} {part} gets there at batch {n}, at {cost} the provider's cost per output token.").format(
            n=fmt.number(smaller.batch[at]), cost=fmt.ratio(smaller.cost[1, at]), **words
        )
    else:
        text = _("{option} is {goal} as fast as {reference}. No batch on the same {chips} {part} gets there: a single request is {most} as fast ({low}-{high} in the 90 % band).").format(
            most=fmt.ratio(smaller.speed[0]), low=fmt.number(smaller.speed_low[0]), high=fmt.ratio(smaller.speed_high[0]), **words
        )
    return f"{text} {_parts_text(e, found, goal)}"


def _parts_text(e: Evaluation, found: TwoWays, goal: float) -> str:
    """The other way: which parts get there at the same batch."""
    newer = found.newer
    reached = found.parts_for(goal)
    gpus = [i for i in reached if not found.sram[i]]
    best = int(np.nanargmax(np.where(found.sram, -np.inf, np.nan_to_num(newer.speed, nan=-np.inf))))
    words = {"batch": fmt.number(found.deployment.batch_size)}

    def name(i: int) -> str:
        return _part_name(e, str(found.hardware[i]))

    if gpus:
        text = ngettext("At batch {batch} {n} newer HBM part gets there too: {parts}.", "At batch {batch} {n} newer HBM parts get there too: {parts}.", len(gpus)).format(
            n=len(gpus), parts=", ".join(_named(found, i, name(i)) for i in gpus[:3]), **words
        )
    else:
        text = _("At batch {batch} no newer HBM part does; the fastest, {part}, is {speed} as fast (90 %: {low}-{high}).").format(
            part=name(best), speed=fmt.ratio(newer.speed[best]), low=fmt.number(newer.speed_low[best]), high=fmt.ratio(newer.speed_high[best]), **words
        )
        open_ = int((newer.speed_high[~found.sram] >= goal).sum())
        if open_:
            text += " " + ngettext("The band of {n} of them holds {goal}.", "The bands of {n} of them hold {goal}.", open_).format(n=open_, goal=fmt.ratio(goal))
    sram = [i for i in reached if found.sram[i]]
    speeds = np.where(found.sram, np.nan_to_num(newer.speed, nan=-np.inf), -np.inf)
    if not sram and np.isfinite(speeds).any():
        best = int(speeds.argmax())
        text += " " + _("No SRAM machine does; the fastest, {part}, is {speed} as fast (90 %: {low}-{high}).").format(
            part=name(best), speed=fmt.ratio(newer.speed[best]), low=fmt.number(newer.speed_low[best]), high=fmt.ratio(newer.speed_high[best])
        )
    elif sram:
        text += " " + _("SRAM machines that do: {parts}.").format(parts=", ".join(_named(found, i, name(i)) for i in sram))
    return text


def _part_name(e: Evaluation, part: str) -> str:
    """A part's label, marked where it is not on sale yet."""
    row = e.catalog.hardware.loc[part]
    return str(row["label"]) if row["shown"] == 1 else _("{part} (announced)").format(part=row["label"])


def _named(found: TwoWays, i: int, label: str) -> str:
    """A part with its speed and cost."""
    low, mid, high = found.newer.cost[:, i]
    speed = fmt.ratio(found.newer.speed[i])
    if np.isnan(mid):
        return _("{part} ({speed}, cost unknown)").format(part=label, speed=speed)
    return _("{part} ({speed} at {cost} the cost, {low}-{high})").format(part=label, speed=speed, cost=fmt.ratio(mid), low=fmt.number(low), high=fmt.ratio(high))


def _part_marks(e: Evaluation, found: TwoWays) -> list[ways_chart.Mark]:
    hardware, newer, made = e.catalog.hardware, found.newer, []
    for i, part in enumerate(found.hardware):
        if np.isnan(newer.speed[i]) or np.isnan(newer.cost[1, i]):
            continue
        kind = "sram" if found.sram[i] else "newer" if hardware.at[part, "shown"] == 1 else "announced"
        about = _("{chips} chips, batch {batch}").format(chips=fmt.count(newer.chips[i]), batch=fmt.number(newer.batch[i]))
        made.append(ways_chart.Mark(str(hardware.at[part, "label"]), kind, newer.speed[i], newer.cost[1, i], newer.speed_low[i], newer.speed_high[i], newer.cost[0, i], newer.cost[2, i], about))
    return made


def _tier_marks(e: Evaluation) -> list[ways_chart.Mark]:
    """Published tiers, those at the same place as one mark."""
    places: dict[tuple[float, float, bool], list[str]] = {}
    for tier in published_tiers(e.catalog):
        places.setdefault((tier.speed, tier.price, tier.measured), []).append(tier.label)
    made = []
    for (speed, price, measured), names in places.items():
        label = names[0] if len(names) == 1 else _("{name} and {n} more").format(name=names[0], n=len(names) - 1)
        basis = _("measured speeds") if measured else _("the vendor's \u201cup to\u201d")
        made.append(ways_chart.Mark(label, "tier", speed, price, about=f"{', '.join(names)}; {basis}"))
    return made


def _ways_table(e: Evaluation, found: TwoWays) -> None:
    with st.expander(_("Both ways as a table"), key="ways_table"):
        labels, way, newer = e.catalog.hardware["label"], found.smaller, found.newer
        home = str(labels[str(found.deployment.hardware)])
        both = [np.concatenate([a, b]) for a, b in ((getattr(way, n), getattr(newer, n)) for n in ("chips", "batch", "speed", "speed_low", "speed_high"))]
        cost = np.concatenate([way.cost, newer.cost], axis=1)
        heads = [_("chips"), _("batch"), _("speed, x"), _("speed, 90 % low"), _("speed, 90 % high")]
        columns = {_("part"): [home] * len(way.batch) + [str(labels[i]) for i in found.hardware], **dict(zip(heads, both, strict=True))}
        columns |= dict(zip((_("cost, x, low"), _("cost, x, middle"), _("cost, x, high")), cost, strict=True))
        frame = pd.DataFrame(columns | {_("no figure because"): [*way.reasons, *newer.reasons]})
        numbers = {name: st.column_config.NumberColumn(format="%.3g") for name in frame.columns[3:-1]}
        st.dataframe(frame, hide_index=True, width="stretch", column_config=numbers, placeholder=fmt.MISSING)
