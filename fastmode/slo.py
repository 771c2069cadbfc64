"""What a deployment carries, in words: its traffic against saturation, and the goodput within the limits (SLO) given."""

from __future__ import annotations

import numpy as np

from fastmode import format as fmt
from fastmode.catalog import Catalog
from fastmode.evaluate import Evaluation, evaluate
from fastmode.i18n import _
from fastmode.scenario import Scenario
from fastmode.serving import ServiceInTraffic
from fastmode.serving.traffic import LIMITS


def goodput_text(evaluation: Evaluation) -> str:
    """The largest batch and the largest traffic within the scenario's limits, as one sentence; empty without a limit.

    For a scenario of single values. The goodput behind it is computed when first asked for (see `Evaluation.goodput`).
    """
    e, found = evaluation, evaluation.goodput
    if found is None:
        return ""
    limits = _limits(e)
    batch, rate, tokens = (float(array[0]) for array in (found.batch, found.requests_per_s, found.output_tokens_per_s))
    if np.isnan(rate):
        return _("{limits}: no figure, {reason}.").format(limits=limits, reason=e.outputs()["slo_batch"].reason)
    if batch == rate == 0.0:
        return _("Misses {limits} even without load.").format(limits=limits)
    return _(
        "Meets {limits} up to batch {batch} ({batch_limit}); in traffic up to {rate} requests/s, {tokens} tok/s ({traffic_limit})."
    ).format(
        limits=limits, batch=fmt.number(batch), batch_limit=_(LIMITS[int(found.batch_limit[0])]), rate=fmt.number(rate),
        tokens=fmt.number(tokens), traffic_limit=_(LIMITS[int(found.traffic_limit[0])]),
    )  # fmt: skip


def traffic_text(evaluation: Evaluation) -> str:
    """How many requests run in the scenario's traffic and how far from saturation that is; empty where nothing is served.

    The percentiles are as shown: scaled to the published figures like the speed and the TTFT they belong to, and TTFT with
    the handshake.
    """
    e, now = evaluation, evaluation.now
    service = now.service
    if not isinstance(service, ServiceInTraffic) or not np.isfinite(e.at(service.running)):
        return ""
    rate, most = e.at(service.requests_per_s), e.at(service.saturation_requests_per_s)
    text = _(
        "Traffic, {rate} per second: {running} requests run on average; load {load}, saturated at {most} per second."
    ).format(
        rate=fmt.number(rate), running=fmt.number(e.at(service.running)), load=fmt.share(rate / most), most=fmt.number(most)
    )  # fmt: skip
    low = e.at(e.bands(90)["tokens_per_s_per_user"][0])
    if rate / most > low / e.at(now.tokens_per_s):
        text += " " + _("At the slow end of the speed's 90 % band this traffic would saturate the machine.")
    first = e.at(now.handshake_s) + e.at(now.ttft_s) / e.at(service.ttft_s) * e.at(service.ttft_p95_s)
    each = e.at(service.tokens_per_s_per_user) / e.at(now.tokens_per_s) * e.at(service.tpot_p95_s)
    if not np.isfinite(first + each):
        return text
    return text + " " + _("p95 TTFT {first}, TPOT {each}.").format(first=_time(first), each=_time(each))


def batch_met(scenario: Scenario, catalog: Catalog) -> float:
    """Requests that run beside a user and the user's own: the fixed batch, or what the traffic brings where it is served."""
    if scenario.load != "traffic":
        return float(scenario.batch_size)
    evaluation = evaluate(scenario, catalog)
    batch = evaluation.at(evaluation.now.service.batch)
    return batch if np.isfinite(batch) else float(scenario.batch_size)


def _limits(e: Evaluation) -> str:
    first, each = e.scenario.slo_ttft_s, e.scenario.slo_tpot_s
    if each is None:
        return _("p95 TTFT {first}").format(first=_time(first))
    if first is None:
        return _("p95 TPOT {each}").format(each=_time(each))
    return _("p95 TTFT {first} and TPOT {each}").format(first=_time(first), each=_time(each))


def _time(seconds: float) -> str:
    """Times of one token are milliseconds."""
    return fmt.join_unit(fmt.number(1e3 * seconds), "ms") if seconds < 1.0 else fmt.duration(seconds)
