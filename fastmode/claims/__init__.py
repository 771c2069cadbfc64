"""Each claim of the founding articles against the catalogue and the model.

A verdict is a small function of stored rows or of an evaluation, registered under the claim's id in VERDICTS; the claimed
numbers are read from the claim's own row. A claim without a function is "untested", one marked as outside scope in its row
says so. What the rules mean by agreement:

* a claimed figure and ours are the same when they differ by at most ROUNDING, since the claims are rounded figures;
* "supported" asks for rows that are measured, or for a fact the vendor sets by itself (a price, a part's memory, area or
  power); agreement with a figure that is only stated or reported is "partly supported";
* a floor ("more than") is taken without tolerance, and a ceiling ("up to") is not contradicted by a lower speed;
* a direction ("small batches lower the throughput") holds where the model shows it over the whole range named in the basis;
  where measured rows show the same quantity, nine in ten of their neighbouring pairs must agree as well;
* a claim of several parts is "supported" when all of them hold, "partly supported" when some do, "contradicted" when none;
  a part that nobody publishes does not hold;
* a comparison of modelled energies is decided only where the whole 90 % band of the ratio, over all models named, lies on one
  side of the threshold; else it is "partly supported" and its basis says that the band does not decide. The half width of ln
  ratio is the root of the summed squares of those of the two times per token;
* what rests on a constant that is assumed and not fitted is judged over the constant's whole range: the one verdict where all of
  it agrees, else "partly supported"; the basis names the constant's range, and says so where the model cannot come out otherwise;
* a cause ("is what makes it fifteen times faster") is judged by changing that alone in the model: "partly
  supported" while it explains more than ROUNDING but less than the claimed figure;
* what the model assumes (the same weights make the same errors) is no evidence: such a claim rests on measured rows, or on a
  proof read at its source;
* an odds ratio of errors measured on one benchmark is carried over to others with the spread between benchmarks of its task family;
  a direction holds where the whole 90 % band lies on one side of 1, else the band does not decide;
* that an option saves time or money in a task is decided where it does so in at least 95 or in at most 5 of 100 plausible worlds;
* a claim whose one deciding figure nobody publishes is untested, also where what it would take is computed;
* a forecast is judged by what is in the catalogue today, and its basis says so.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from fastmode.catalog import Catalog, load
from fastmode.claims import batches, chips, energy, mechanisms, offers, people, pipelines, sizes, tiers, wafers, waiting
from fastmode.claims.found import (
    CODEX,
    CONTRADICTED,
    FAST,
    OUTSIDE,
    PARTLY,
    SUPPORTED,
    UNTESTED,
    VERDICT_WORDS,
    Facts,
    Finding,
    Unknown,
)  # fmt: skip
from fastmode.i18n import _

__all__ = [
    "COLUMNS", "CONTRADICTED", "OUTSIDE", "PARTLY", "SUPPORTED", "UNTESTED", "VERDICTS", "VERDICT_WORDS", "Finding",
    "claims_table",
]  # fmt: skip

COLUMNS = ("id", "claim", "verdict", "kind", "value", "unit", "low", "high", "published", "basis", "link")
HOOK = "which_model_feature_would_reproduce_or_test_it"

VERDICTS: dict[str, Callable[[Facts], Finding]] = {
    "C01": offers.up_to,
    "C02": offers.two_speeds,
    "C03": offers.price_ratio,
    "C04": people.same_quality,
    "C05": mechanisms.small_batches,
    "C06": batches.price_of_speed,
    "C07": batches.memory_bound,
    "C08": batches.prompt_upload,
    "C09": waiting.longer_wait,
    "C10": waiting.batching_wait,
    "C11": tiers.first_token,
    "C12": batches.throughput,
    "C13": tiers.empty_seats,
    "C14": batches.after_first_token,
    "C15": offers.spark_speed,
    "C16": offers.speed_ratio(CODEX),
    "C17": offers.speed_ratio(FAST),
    "C18": people.smaller_model,
    "C19": people.tool_calls,
    "C20": tiers.runs_on,
    "C21": chips.areas,
    "C22": chips.wafer_memory,
    "C23": chips.gpu_sram,
    "C24": chips.params_held,
    "C25": wafers.resident,
    "C26": wafers.sram_reads,
    "C27": wafers.codex_fits,
    "C28": sizes.size_of_spark,
    "C29": sizes.sharded,
    "C30": wafers.linked,
    "C31": sizes.close_to_glm,
    "C32": pipelines.sharding,
    "C33": pipelines.series,
    "C34": pipelines.long_pipeline,
    "C35": wafers.little_sram,
    "C36": energy.rivals,
    "C37": pipelines.interconnect,
    "C38": waiting.almost_no_wait,
    "C39": waiting.cheap_by_joining,
    "C40": waiting.fills_at_once,
    "C41": mechanisms.bigger_share,
    "C42": mechanisms.newest_hardware,
    "C43": chips.newer_gpu,
    "C44": batches.speculation,
    "C45": people.exact_speculation,
    "C46": batches.plain_batching,
    "C50": sizes.codex_on_wafers,
    "C51": chips.megawatts,
    "C52": energy.dedicated,
    "C54": chips.memory_tiers,
    "C55": chips.external_memory,
    "C56": waiting.answers_at_once,
    "C57": waiting.kept_connection,
    "C58": waiting.handshake,
    "C63": sizes.over_a_thousand,
    "C64": people.tuned_models,
    "C68": offers.correcting,
    "C69": offers.founding_trade,
    "C72": tiers.partnership,
    "C76": mechanisms.uncertain,
    "C77": wafers.fitting,
    "C78": tiers.no_new_model,
    "C79": people.by_task,
    "C80": sizes.too_complex,
}


def _find(identity: str, row: pd.Series, catalog: Catalog) -> Finding:
    if row[HOOK] == OUTSIDE:
        return Finding(OUTSIDE, basis=_("An opinion or a forecast that no figure here can test."))
    if identity not in VERDICTS:
        return Finding(UNTESTED, unit=str(row["unit"]), basis=_("No calculation yet."))
    try:
        return VERDICTS[identity](Facts(catalog, str(row["quantity"])))
    except Unknown:
        return Finding(UNTESTED, unit=str(row["unit"]), basis=_("A figure it rests on is not in the data."))


def claims_table(catalog: Catalog | None = None) -> pd.DataFrame:
    """One row a claim, in the order of the data, with the columns COLUMNS.

    verdict is one of VERDICT_WORDS, untranslated; value, low and high are float64 in `unit`, NaN where there is no figure;
    published is the claim's own quantity as written; link is an address of the app relative to its root, "" where no
    page shows the claim. Texts of basis are in the current language.
    """
    catalog = catalog or load()
    rows = []
    for identity, row in catalog.claims.iterrows():
        finding = _find(str(identity), row, catalog)
        own = {"id": identity, "claim": row["claim"], "published": row["quantity"]}
        rows.append(own | {name: getattr(finding, name) for name in COLUMNS if name not in own})
    return pd.DataFrame(rows, columns=list(COLUMNS))
