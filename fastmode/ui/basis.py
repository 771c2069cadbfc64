"""What stands behind a card: the formula with this scenario's numbers, inputs with sources, and how to reproduce it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from fastmode import format as fmt
from fastmode import link, quality
from fastmode.calibration import METHOD
from fastmode.cards import BENCHMARKS, Card, outside_range
from fastmode.evaluate import Evaluation
from fastmode.i18n import _
from fastmode.productivity import TIME_PARTS, expected_error_cost_s, tolerable_extra_error
from fastmode.ranges import ranges
from fastmode.serving import PRECISIONS, precision_code
from fastmode.serving.evidence import HBM, KINDS
from fastmode.uncertainty import BENCHMARK, SIZE
from fastmode.verdict import driver_text


def basis(card: Card, evaluation: Evaluation) -> None:
    """Draw the basis of one card inside the current container."""
    lines = {
        "tokens_per_s_per_user": _speed,
        "cost_multiplier": _cost,
        "error_rate": _error,
        "net_productivity": _productivity,
    }[card.key](evaluation)
    st.markdown("\n".join(f"- {line}" for line in lines))
    st.caption(_("Reproduce"))
    st.code(f'python -m fastmode evaluate "{link.to_query(evaluation.scenario)}"', language="bash", wrap_lines=True)


def _n(value: float) -> str:
    return fmt.number(value, 4)


def _endpoint(e: Evaluation, preset: str) -> tuple[str, str, str]:
    row = e.catalog.endpoints.loc[preset]
    return str(row["date"]), str(row["source_url"]), str(row["source_note"]).partition(";")[0]


def _speed(e: Evaluation) -> list[str]:
    side, preset = e.now, str(e.scenario.preset)
    date, url, note = _endpoint(e, preset)
    row = e.catalog.presets.loc[preset]
    lines = []
    if bool(np.ravel(side.anchored)[0]):
        lines.append(
            _("speed = quoted x modelled here / modelled at the preset = {quoted} x {ratio} = {speed} tok/s").format(
                quoted=_n(e.at(side.published_tokens_per_s)),
                ratio=_n(e.at(side.speed_ratio)),
                speed=_n(e.at(side.tokens_per_s)),
            )
        )
        lines.append(
            _("quoted {quoted} tok/s: [{note}]({url}), {date}").format(
                quoted=_n(e.at(side.published_tokens_per_s)), note=note, url=url, date=date
            )
        )
    else:
        lines.append(
            _("speed = 1 / time per output token of the model alone, {speed} tok/s").format(
                speed=_n(e.at(side.modelled_tokens_per_s))
            )
        )
    lines.append(_("modelled alone: {speed} tok/s with {model} on {chips} {hardware}, batch {batch}, {precision}; stand-in and settings {basis}").format(
        speed=_n(e.at(side.modelled_tokens_per_s)), model=_label(e, "models", e.scenario.model), chips=_n(e.at(side.service.n_chips)),
        hardware=_label(e, "hardware", e.scenario.hardware), batch=_n(e.at(side.service.batch)) if np.isfinite(e.at(side.service.batch)) else _n(float(e.scenario.batch_size)), precision=_precision(e), basis=row["standin_basis"],
    ))  # fmt: skip
    quoted, alone = e.at(side.published_tokens_per_s), e.at(side.modelled_tokens_per_s) / e.at(side.speed_ratio)
    if np.isfinite(quoted) and np.isfinite(alone):
        lines.append(
            _(
                "the quoted speed is {ratio} what the stand-in gives at the preset: real model, chips or batch differ from the assumed ones"
            ).format(ratio=fmt.ratio(quoted / alone))
        )
    multiple = e.catalog.endpoints.at[preset, "speed_multiplier_vs_standard"]
    if np.isfinite(multiple) and multiple != 1:
        lines.append(_("the vendor's own multiple: up to {multiple}x").format(multiple=_n(multiple)))
    lines.append(
        _("TTFT = handshake {handshake} s + {ttft} s (queue, prefill, one step)").format(
            handshake=_n(e.at(side.handshake_s)), ttft=_n(e.at(side.ttft_s))
        )
    )
    energy = e.at(side.service.energy_j_per_token)
    if np.isfinite(energy):
        lines.append(
            _("energy {energy} per output token of the stand-in, chips alone at their rated power").format(energy=fmt.joules(energy))
        )
    return lines + _spread(e) + _constants(e)


def _precision(e: Evaluation) -> str:
    """Precision of the weights as served, and the one asked for where the chip lacks it."""
    used, asked = int(np.ravel(e.now.service.weight_precision)[0]), str(e.scenario.weight_precision)
    if precision_code(asked) in (None, -1, used):
        return asked
    return _("{used} (the chip lacks {asked})").format(used=PRECISIONS[used], asked=asked)


def _spread(e: Evaluation) -> list[str]:
    """How far the model may be off, and what that rests on."""
    errors = e.catalog.calibration_errors.set_index(["quantity", "left_out", "group"])
    kind = int(np.ravel(e.now.service.kind)[0])
    lines = []
    if kind == HBM:
        figures = {
            name: fmt.share(float(errors.at[("tpot", "hardware", "all rows"), name])) for name in ("median", "p90", "coverage90")
        } | {"once": fmt.share(float(errors.at[("tpot", "hardware", "cells equal"), "coverage90"]))}
        lines.append(
            _(
                "residual spread: on rows whose hardware was left out of the fit, time per output token is {median} off in the median, {p90} at the 90th percentile; {coverage90} of them lie in the 90 % band, {once} with each deployment counted once"
            ).format(**figures)
        )
    else:
        row = e.catalog.calibration_sram.set_index(["kind", "method"]).loc[(KINDS[kind], "physics")]
        lines.append(
            _(
                "residual spread: with each architecture left out, {rows} published speeds of such machines are {median} off in the median, {most} at most"
            ).format(rows=int(row["rows"]), median=fmt.share(row["median"]), most=fmt.share(row["max"]))
        )
    if bool(np.ravel(e.now.anchored)[0]):
        lines.append(_("the band is that of the ratio to the preset: the quoted figure itself has none"))
    outside, service = outside_range(e), e.now.service
    if outside:
        anchored = bool(np.ravel(e.now.anchored)[0])
        wider = e.at(service.beyond) > 0 or (not anchored and e.at(service.novel) > 0)
        lines.append(_("{outside}: the band is wider there").format(outside=outside) if wider else outside)
    return lines


def _constants(e: Evaluation) -> list[str]:
    """The serving constants fitted to measured rows, which every modelled speed rests on."""
    table = e.catalog.serving_constants
    fitted = table.loc[table["method"] == METHOD, "value"]
    names = ", ".join(f"{name} {value:g}" for name, value in fitted.items())
    return [_("{n} fitted constants (data/serving_constants.csv): {names}").format(n=len(fitted), names=names)]


def _label(e: Evaluation, table: str, row: str) -> str:
    frame = getattr(e.catalog, table)
    return str(frame.at[row, "label"]) if row in frame.index else str(row)


def _cost(e: Evaluation) -> list[str]:
    s, now, ref = e.scenario, e.now, e.reference
    scale = float(s.task_scale)
    lines = [_("token bill = (input {n_in} x {p_in} + output {n_out} x {p_out}) / 1e6 = {bill}").format(
        n_in=_n(s.n_in * scale), p_in=fmt.money(e.at(now.price_in_usd_per_mtok)), n_out=_n(s.n_out * scale), p_out=fmt.money(e.at(now.price_out_usd_per_mtok)), bill=fmt.money(e.at(now.task.token_bill_usd)),
    ), _("reference: {bill}; multiplier {ratio}").format(bill=fmt.money(e.at(ref.task.token_bill_usd)), ratio=fmt.ratio(e.at(e.cost_multiplier)))]  # fmt: skip
    date, url, note = _endpoint(e, str(s.preset))
    lines.append(
        _("list price, USD per Mtok: input {p_in}, output {p_out}: [{note}]({url}), {date}").format(
            p_in=_n(e.at(now.list_price_in_usd_per_mtok)),
            p_out=_n(e.at(now.list_price_out_usd_per_mtok)),
            note=note,
            url=url,
            date=date,
        )
    )
    lines.append(_("provider cost = {chips} chips x {hour} per chip-hour x 1e6 / (3600 x {rate} output tok/s x {used} utilisation) = {cost} per Mtok of output").format(
        chips=_n(e.at(now.service.n_chips)), hour=fmt.money(e.at(now.chip_hour_usd)), rate=_n(e.at(now.service.output_tokens_per_s)), used=_n(float(s.utilisation)), cost=fmt.money(e.at(now.provider_usd_per_mtok[1])),
    ))  # fmt: skip
    if s.load == "traffic" and np.isfinite(e.at(now.tokens_per_s)) and bool(np.ravel(now.anchored)[0]):
        carried = e.outputs()["output_tokens_per_s"].value
        lines.append(
            _(
                "in traffic: the {own} tok/s are the stand-in's at its own pace, idle time included, where the quoted deployment carries {carried}; utilisation is the share of paid time this traffic lasts"
            ).format(own=_n(e.at(now.service.output_tokens_per_s)), carried=_n(float(np.ravel(carried)[0])))
        )
    if bool(np.ravel(now.chip_hour_derived)[0]):
        lines.append(
            _(
                "no rental price of this chip is known: analysts' estimates and the purchase price paid off over {years} years"
            ).format(years=_n(float(s.amortisation_years)))
        )
    return lines


def _error(e: Evaluation) -> list[str]:
    s = e.scenario
    row = e.catalog.presets.loc[str(s.preset)]
    profile = str(e.catalog.profiles.at[str(s.task), "label"])
    lines = [
        _("error of the group's reference ({reference}): {error}, profile {profile}").format(reference=_label(e, "presets", row["reference"]), error=_n(float(s.error)), profile=profile),
        _("odds = {odds}; x {benchmark} benchmark x {size} size = {result}").format(
            odds=_n(_odds(float(s.error))), benchmark=_n(e.at(e.now.benchmark_odds_ratio)), size=_n(e.at(e.now.size_odds_ratio)), result=_n(_odds(e.at(e.now.error_benchmark))),
        ),
        _("error = odds / (1 + odds) = {error}").format(error=_n(e.at(e.now.error_rate))),
    ]  # fmt: skip
    if e.at(e.now.size_odds_ratio) != 1.0:
        slope = quality.beta(str(s.task_family), e.catalog, float(s.agentic_step))
        words = {"value": _n(float(slope.value)), "low": _n(float(slope.low)), "high": _n(float(slope.high))}
        lines.append(
            _("size = (ratio of total parameters) ^ {value} ({low} to {high}): {rule}").format(
                rule=_(quality.WHICH_TEXT[str(slope.which)]), **words
            )
        )
    if e.at(e.now.quantisation_loss) > 0:
        lines.append(_("quantisation: {loss} of the successes lost against the preset's own precision").format(loss=fmt.share(e.at(e.now.quantisation_loss))))
    if float(s.length_exponent) and float(s.task_scale) != 1.0:
        lines.append(
            _("longer tasks: success ^ (length {length} ^ exponent {exponent})").format(length=_n(float(s.task_scale)), exponent=_n(float(s.length_exponent)))
        )
    if row["benchmark"]:
        scores = e.catalog.endpoints[row["benchmark"]]
        date, url, note = _endpoint(e, str(s.preset))
        lines.append(
            _("{benchmark}: {mine} % against {other} %: [{note}]({url}), {date}").format(
                benchmark=BENCHMARKS[row["benchmark"]],
                mine=_n(scores[str(s.preset)]),
                other=_n(scores[row["reference"]]),
                note=note,
                url=url,
                date=date,
            )
        )
    lines.append(_("batch, hardware and exact speculation do not change the error"))
    return lines + _error_spread(e)


def _error_spread(e: Evaluation) -> list[str]:
    """What the band of the error is made of."""
    s, drivers = e.scenario, e.spread.worlds.drivers
    lines = []
    if "error" in drivers:
        known = ranges(s, e.catalog)["error"]
        lines.append(_("band: the reference's error from {low} to {high}").format(low=fmt.share(known.low), high=fmt.share(known.high)))
    if BENCHMARK in drivers:
        rests = quality.transfer(e.catalog, str(s.task_family))
        lines.append(
            _("band: a benchmark's odds ratio differs from another's by {sd} logits (standard deviation, {rows} scores of {pairs} pairs)").format(
                sd=_n(quality.carry_sd(e.catalog, str(s.task_family))), rows=rests.rows, pairs=rests.pairs
            )
        )
    if SIZE in drivers:
        residual = quality.size_residual(e.catalog, str(s.task_family))
        lines.append(
            _("band: one smaller model lies around the curve by {below} logits below and {above} above (standard deviations)").format(
                below=_n(residual.below), above=_n(residual.above)
            )
        )
    return lines


def _odds(error: float) -> float:
    return error / (1 - error) if error < 1 else np.inf


def _productivity(e: Evaluation) -> list[str]:
    task, ref, s = e.now.task, e.reference.task, e.scenario
    parts = " + ".join(_n(e.at(getattr(task, part))) for part in TIME_PARTS)
    return [
        _("time = prompting + waiting + reviewing + re-prompting + fixing + escaped = {parts} = {total} s").format(parts=parts, total=_n(e.at(task.time_per_task_s))),
        _("wait W = calls {calls} x TTFT {ttft} s + output {n_out} / {speed} + tools {tools} s + start {start} s = {wait} s").format(
            calls=_n(s.calls * s.task_scale), ttft=_n(e.at(e.now.ttft_client_s)), n_out=_n(s.n_out * s.task_scale), speed=_n(e.at(e.now.tokens_per_s)), tools=_n(s.tool_time_s * s.task_scale), start=_n(float(s.start_delay_s)), wait=_n(e.at(task.wait_s)),
        ),
        _("retries {retries}, fixed by hand {manual}, escaped {escaped} per task").format(retries=_n(e.at(task.retries)), manual=_n(e.at(task.p_manual)), escaped=_n(e.at(task.p_escaped))),
        _("rule for one attempt: time lost to waiting saved {saved} s / expected cost of an error {cost} s = {points} of extra error").format(
            saved=_n(e.at(ref.lost_s) - e.at(task.lost_s)), cost=_n(float(expected_error_cost_s(s.detect, s.fix_time_s, s.escape_factor))),
            points=fmt.points(float(tolerable_extra_error(e.at(ref.lost_s) - e.at(task.lost_s), s.detect, s.fix_time_s, s.escape_factor))),
        ),
        _("net productivity = time without AI / time = {value}").format(value=_n(e.at(task.net_productivity))),
        _("reference: {time} s per accepted task, wait {wait} s").format(time=_n(e.at(ref.time_per_task_s)), wait=_n(e.at(ref.wait_s))),
        *_worlds(e),
    ]  # fmt: skip


def _worlds(e: Evaluation) -> list[str]:
    """What the bands and chances rest on."""
    drawn = e.spread.worlds.drivers
    if not drawn or not np.isfinite(e.at(e.time_change)):
        return []
    words = {"n": fmt.number(e.spread.draws), "drivers": ", ".join(driver_text(driver) for driver in drawn)}
    return [
        _("band and chances: {n} worlds, the same for option and reference; drawn in each: {drivers}").format(**words),
        _("what you have set yourself is a point; ranges: data/assumptions.csv, data/profile_values.csv"),
    ]
