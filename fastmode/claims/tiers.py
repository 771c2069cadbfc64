"""Claims on what a fast tier changes: first token, seats, chip, model (C11, C13, C20, C72, C78)."""

from __future__ import annotations

from urllib.parse import urlencode

import numpy as np
import pandas as pd

from fastmode import format as fmt
from fastmode.i18n import _

from fastmode.claims.found import (  # isort: skip
    CODEX, CONTRADICTED, FAST, FIRM, MEASURED, PARTLY, ROUNDING, SPARK, STANDARD, SUPPORTED, Facts, Finding,
    Unknown, address, known, parts,
)  # fmt: skip

PROMISE = "opus_fast_speedup"  # row of strategies: what the vendor's documentation says of its fast mode
PARTNERSHIP = "openai-cerebras"  # row of events
OWN_MODEL = "separate model"  # word of the column mode of endpoints


def first_token(f: Facts) -> Finding:
    """C11: modelled time to first token at the fast batch over that at the standard one.

    Three parts: the vendor's documentation does not promise a faster first token; a measured fast tier has none faster than its own
    standard tier, or than the measured standard tiers in the middle where that one's is not published; and the model has none.
    """
    rows, endpoints = f.catalog.strategies.set_index("quantity"), f.catalog.endpoints
    timed = endpoints[(endpoints["basis"] == MEASURED) & endpoints["ttft_s"].notna()]
    fast = f.fast_tiers().index.intersection(timed.index)
    others = timed["ttft_s"].drop(fast)
    if PROMISE not in rows.index or fast.empty or others.empty:
        raise Unknown
    silent = "first token is not promised" in str(rows.at[PROMISE, "note"])
    own = endpoints.loc[fast, "same_model_as"].map(endpoints["ttft_s"])
    stays = bool((timed["ttft_s"][fast] >= own.fillna(others.median())).all())
    batch = np.array([f.setting(FAST, "batch_size"), f.setting(STANDARD, "batch_size")])
    first = f.served(STANDARD, model=np.array(f.standins(STANDARD))[:, None], batch_size=batch).ttft_s.reshape(-1, 2)
    known(first[0])
    ratio = first[:, 0] / first[:, 1]
    says = _("The vendor's page speaks of output speed and does not promise a faster first token.") if silent else _("The vendor's page promises a faster first token.")  # fmt: skip
    basis = _(
        "Measured: {fast} in fast mode after {fast_s}, standard tiers {least} to {most}; its own standard tier is {own}. The model has it after {small} at batch {few}, with fewer prefills ahead, and after {large} at {many}."
    ).format(
        fast=", ".join(f.text(i, "model") for i in fast), fast_s=fmt.duration(timed["ttft_s"][fast].max()), least=fmt.duration(others.min()),
        most=fmt.duration(others.max()), own=fmt.duration(own.max()) if own.notna().any() else _("not published"),
        small=fmt.duration(first[0, 0]), few=fmt.number(batch[0]), large=fmt.duration(first[0, 1]), many=fmt.number(batch[1]),
    )  # fmt: skip
    place = f"{f.state('/batching', STANDARD, batch_size=batch[0])}&{urlencode({'tab': 'First token'})}"
    verdict = parts(silent, stays, bool(ratio[0] > 1.0 - ROUNDING))
    return Finding(
        verdict, "model", float(ratio[0]), "x TTFT", f"{says} {basis}", place, float(np.nanmin(ratio)), float(np.nanmax(ratio))
    )


def empty_seats(f: Facts) -> Finding:
    """C13: what an output token costs the provider at the fast batch over the standard one: chip time, prefill of the same requests
    included; low and high: over the stand-in models.

    Three parts: it costs more; the founding price multiple pays for that; the least multiple this vendor asks today does too.
    """
    batch = np.array([f.setting(FAST, "batch_size"), f.setting(STANDARD, "batch_size")])
    s = f.served(STANDARD, model=np.array(f.standins(STANDARD))[:, None], batch_size=batch)
    output, decode = (a.reshape(-1, 2) for a in (s.output_tokens_per_s, s.decode_tokens_per_s))
    known(output[0])
    costs = output[:, 1] / output[:, 0]
    cost, low, high = float(costs[0]), float(np.nanmin(costs)), float(np.nanmax(costs))
    price = f.number(FAST, "output_usd_per_mtok") / f.number(STANDARD, "output_usd_per_mtok")
    tiers, listed = f.fast_tiers(), f.catalog.endpoints["output_usd_per_mtok"]
    least = float((tiers["output_usd_per_mtok"] / tiers["same_model_as"].map(listed)).min())
    paid = [multiple >= cost * (1.0 - ROUNDING) for multiple in (price, least)]
    basis = _(
        "Batch {many} to {few} leaves {seats} the seats to a user. An output token then costs the provider {cost} as much ({decode} in decoding alone) and the user {speed} the speed at most. The founding price is {price}, the least today {least}."
    ).format(
        many=fmt.number(batch[1]), few=fmt.number(batch[0]), seats=fmt.ratio(batch[1] / batch[0]), cost=fmt.ratio(cost),
        decode=fmt.ratio(decode[0, 1] / decode[0, 0]), price=fmt.ratio(price), least=fmt.ratio(least),
        speed=fmt.ratio(s.tokens_per_s_per_user[0] / s.tokens_per_s_per_user[1]),
    )  # fmt: skip
    ends = [_("It pays for the empty seats.") if paid[0] else _("It does not pay for the empty seats.")]
    if paid[0] != paid[1]:
        ends.append(_("Today's does.") if paid[1] else _("Today's does not, unless fewer seats are left empty."))
    place = f"{f.state('/batching', FAST, batch_size=batch[0])}&{urlencode({'tab': 'Fast against cheap'})}"
    return Finding(
        parts(cost > 1.0 + ROUNDING, *paid), "model", cost, "x cost", " ".join([basis, *ends]), place, low, high
    )


def _on_part(f: Facts) -> pd.DataFrame:
    """Endpoints of Codex's vendor that name the maker of Spark's part."""
    rows, maker = f.catalog.endpoints, str(f.catalog.hardware.at[f.wafer, "vendor"])
    return rows[rows["provider"].str.startswith(f.text(CODEX, "provider")) & rows["provider"].str.contains(maker, regex=False)]


def runs_on(f: Facts) -> Finding:
    """C20: endpoints of this vendor that name the maker of the chip; a fact the vendor sets, so its own word is enough."""
    if SPARK not in f.catalog.endpoints.index:
        raise Unknown
    rows, firm = _on_part(f), f.text(SPARK, "basis") in FIRM
    named = SPARK in rows.index
    verdict = CONTRADICTED if not named else SUPPORTED if firm else PARTLY
    basis = _("{model} is offered by {provider} ({word}, {date}). Endpoints of this vendor that name the maker: {n}.").format(
        model=f.text(SPARK, "model"), provider=f.text(SPARK, "provider"), word=f.word(SPARK), date=f.text(SPARK, "date"), n=len(rows),
    )  # fmt: skip
    place = f"{f.state('/hardware', SPARK)}&{urlencode({'tab': 'Where it fits'})}"
    return Finding(verdict, "data", float(len(rows)), "endpoints", basis, place)


def partnership(f: Facts) -> Finding:
    """C72: the month of the announcement against the claimed one; an endpoint on the partner's chips from before contradicts it."""
    announced = f.catalog.events
    announced = announced[announced["id"] == PARTNERSHIP]
    if announced.empty:
        raise Unknown
    day, basis_word = str(announced["date"].iloc[0]), str(announced["basis"].iloc[0])
    dates = _on_part(f)["date"]
    dates = dates[dates.str.len() >= len(f.quantity)]
    if dates.empty or not f.quantity:
        raise Unknown
    first = str(dates.min())
    early = first[: len(f.quantity)] < f.quantity
    same_month = day[: len(f.quantity)] == f.quantity
    basis = _("Reported as announced on {day}; the first endpoint on these chips is dated {first}, {when} the claimed month.").format(
        day=day, first=first, when=_("before") if early else _("not before")
    )
    stated = basis_word == "vendor_spec"
    verdict = CONTRADICTED if early or not same_month else SUPPORTED if stated else PARTLY
    return Finding(verdict, "data", unit="date", basis=basis, link=address("/overview", preset=SPARK))


def no_new_model(f: Facts) -> Finding:
    """C78: the most that the batch alone makes the standard option of Spark's vendor faster, from the standard batch to one request;
    low and high: over its stand-in models.

    Two parts: dearer or faster tiers of one seller keep the weights, by the vendors' own statement of the same model; and the batch
    alone does not reach Spark's stated multiple, so that something else than the batch did change.
    """
    rows = f.catalog.endpoints
    weights = rows[rows["same_model_as"] != ""]
    tiers = weights[weights["provider"] == weights["same_model_as"].map(rows["provider"])]
    maker = str(f.catalog.hardware.at[f.wafer, "vendor"])
    moved = weights[weights["provider"].str.contains(maker, regex=False)]
    apart = int((rows["mode"] == OWN_MODEL).sum())
    stated = f.number(SPARK, "speed_multiplier_vs_standard")
    batch = np.array([1.0, f.setting(CODEX, "batch_size")])
    s = f.served(CODEX, model=np.array(f.standins(CODEX))[:, None], batch_size=batch)
    gains = np.divide(*s.tokens_per_s_per_user.reshape(-1, 2).T)
    known(gains[0])
    basis = _(
        "{tiers} tiers that a seller has beside its standard one keep the weights, {apart} is a separate model. From batch {large} to 1 the same chips are {gain} as fast, where the separate model is stated at {stated}. A new chip needs no new model either: {moved} endpoints on {maker} have the weights of another one."
    ).format(
        tiers=len(tiers), apart=apart, large=fmt.number(batch[1]), gain=fmt.ratio(gains[0]), stated=fmt.ratio(stated),
        moved=len(moved), maker=maker,
    )  # fmt: skip
    verdict = parts(len(tiers) > 0, bool(np.nanmax(gains) < stated * (1.0 - ROUNDING)))
    place = f"{f.state('/batching', CODEX, batch_size=1)}&{urlencode({'tab': 'Fast against cheap'})}"
    return Finding(
        verdict, "model", float(gains[0]), "x speed", basis, place, float(np.nanmin(gains)), float(np.nanmax(gains))
    )
