"""Speeds of the deployments listed in a table: `python -m fastmode predict IN.csv -o OUT.csv`.

One row out per row in, in the same order; a row that cannot be predicted says why in `status`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fastmode.csv_file import CHUNK_ROWS, convert
from fastmode.i18n import _
from fastmode.serving import PRECISIONS, Service, ServingConfig, accept_curves, engine_code, precision_code, serve
from fastmode.serving.bands import half_width
from fastmode.serving.evidence import OUTSIDE, outside_words
from fastmode.serving.tables import tables

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

IDENTITIES = ("model_id", "hardware_id")
OUTPUTS = (
    "ttft_ms", "tpot_ms", "output_tok_s_per_user", "output_tok_s_per_chip", "tpot_ms_low", "tpot_ms_high",
    "ttft_ms_low", "ttft_ms_high", "extrapolation", "status",
)  # fmt: skip
MS_PER_S = 1e3
BAND = 90  # % of the band in the columns ..._low and ..._high
PURE_DECODE = "A"
_NO_DRAFT = frozenset({"", "none", "no", "off", "0", "false", "nan", "null", "n/a", "na", "-", "disabled", "without"})
UNKNOWN_METHOD = -1
METHODS = ("mtp", "eagle", "dspark")  # draft methods that data/accept_length.csv has curves of
_ENDLESS_TOKENS = 1e9
# Column of the file -> field of data/assumptions.csv whose highest value is allowed here too.
_LIMIT_OF = {
    "n_chips": "n_chips", "tp": "tp", "pp": "pp", "dp": "dp", "ep": "ep", "input_tokens": "n_in", "output_tokens": "n_in",
}  # fmt: skip


@dataclass(frozen=True)
class Prepared:
    """The rows of a table as one configuration per row; every field has one element a row.

    A cell that cannot be used is replaced by a harmless number (an unknown id by -1) so that all rows can be served at
    once; only `status` tells such a row from a usable one.
    """

    config: ServingConfig  # queue_overflow is set: what does not fit in memory waits
    pure: NDArray  # bool: a pure decode step (clean_grade A)
    unknown_output: NDArray  # bool: no output_tokens given
    unknown_method: NDArray  # bool: a draft method without a measured curve, served without drafts
    status: list[str]  # empty = usable, else why not


def prepare(frame: pd.DataFrame, catalog: Catalog) -> Prepared:
    """Check and translate the cells of a table (columns of DESIGN section 13, as text or numbers).

    `concurrency` (or `concurrency_or_batch`) requests are in flight. The mean context of a sequence is input + output / 2
    tokens. Raises nothing for bad cells: the first one of a row sets its status.
    """
    most = {column: float(catalog.assumptions.at[field, "max"]) for column, field in _LIMIT_OF.items()}
    cells = _Cells(frame)
    model = cells.identity("model_id", catalog.models.index)
    hardware = cells.identity("hardware_id", catalog.hardware.index)
    fresh = cells.number("input_tokens", 0.0, most["input_tokens"])
    output = cells.number("output_tokens", 1.0, most["output_tokens"], empty=np.nan)
    name = "concurrency" if "concurrency" in frame.columns else "concurrency_or_batch"
    concurrency = cells.number(name, 1.0, float(catalog.serving_constants.at["most_concurrent", "value"]))
    layout = {
        column: cells.number(column, 0.0, most[column], empty=0.0, whole=True) for column in ("tp", "pp", "dp", "ep")
    }
    chips = cells.number("n_chips", 0.0, most["n_chips"], empty=0.0, whole=True)
    layout["pp"] = np.maximum(layout["pp"], 1.0)
    chips = cells.chips(chips, layout, most["n_chips"])
    weight = cells.precision("weight_precision")
    kv = cells.precision("kv_precision")
    engine = np.array([engine_code(text) for text in cells.text("engine")], dtype=np.int64)
    pure = np.array([text.upper() == PURE_DECODE for text in cells.text("clean_grade")], dtype=bool)
    curve, draft, unknown_method = _drafts(cells, catalog)

    unknown_output = np.isnan(output)
    endless = pure | unknown_output
    config = ServingConfig(
        model=model,
        hardware=hardware,
        n_chips=chips,
        **layout,
        weight_precision=weight,
        kv_precision=kv,
        engine=engine,
        batch=concurrency,
        context_tokens=np.where(endless, fresh, fresh + 0.5 * output),
        fresh_tokens=np.where(pure, 0.0, fresh),
        output_tokens=np.where(endless, _ENDLESS_TOKENS, output),
        speculation=curve,
        draft_tokens=draft,
        queue_overflow=True,
    )
    return Prepared(config, pure, unknown_output, unknown_method, cells.status)


def times(prepared: Prepared, service: Service) -> tuple[NDArray, NDArray, NDArray]:
    """(tpot_s, ttft_s, output_rate_per_chip) of each row of `serve(prepared.config, ...)`: seconds, seconds, tokens/s.

    A pure decode step takes sequences / decode rate, its rate is that of decode alone and it has no time to first token
    (NaN); neither has a row without output tokens whose requests wait for memory. All three are NaN where the row is not usable, the service has no figures, or a figure is not finite, positive
    and free of lost digits.
    """
    pure = prepared.pure
    tpot = np.where(pure, service.batch / service.decode_tokens_per_s, service.tpot_s)
    rate = np.where(pure, service.decode_tokens_per_s, service.output_tokens_per_s) / service.n_chips
    # How long one waits for a place depends on the output of those who hold one.
    no_ttft = pure | (prepared.unknown_output & (service.max_batch < prepared.config.batch))
    ok = _usable(prepared, service) & _sound(tpot) & _sound(1.0 / tpot) & _sound(rate) & (no_ttft | _sound(service.ttft_s))
    return np.where(ok, tpot, np.nan), np.where(ok & ~no_ttft, service.ttft_s, np.nan), np.where(ok, rate, np.nan)


def predict(frame: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """The input table with `OUTPUTS` added (replaced where a column of that name exists).

    `concurrency` (or `concurrency_or_batch`) requests are in flight; what does not fit in memory waits. Times are
    milliseconds. `clean_grade` A is a pure decode step at context `input_tokens`: no scheduler, no prefill, no time to
    first token. An empty `output_tokens` leaves the prefill of the other requests out, which `extrapolation` says, as it
    names every part or range without measured rows. ..._low and ..._high are the 90 % band.
    """
    rows = len(frame)
    out = frame.drop(columns=[column for column in OUTPUTS if column in frame.columns])
    if rows == 0:
        return out.assign(**{column: pd.Series(dtype=object) for column in OUTPUTS})
    prepared = prepare(frame, catalog)
    service = serve(prepared.config, catalog)
    tpot, ttft, rate = times(prepared, service)
    ok = ~np.isnan(tpot)
    status = np.array(prepared.status, dtype=object)
    status[ok] = "ok"
    status[_usable(prepared, service) & ~ok] = _("not defined for these inputs")
    for i in np.flatnonzero(status == ""):
        status[i] = service.reason(i)
    table = tables(catalog)
    added = {
        "ttft_ms": ttft * MS_PER_S,
        "tpot_ms": tpot * MS_PER_S,
        "output_tok_s_per_user": 1.0 / tpot,
        "output_tok_s_per_chip": rate,
        "extrapolation": _extrapolation(prepared, service, ok),
        "status": status.tolist(),
    }
    service = replace(service, novel=service.novel + prepared.unknown_method)
    for quantity, seconds in (("tpot", tpot), ("ttft", ttft)):
        factor = np.exp(half_width(service, table, quantity, BAND))
        added |= {f"{quantity}_ms_low": MS_PER_S * seconds / factor, f"{quantity}_ms_high": MS_PER_S * seconds * factor}
    return out.assign(**{column: added[column] for column in OUTPUTS})


def main_predict(
    in_path: str | os.PathLike[str],
    out_path: str | os.PathLike[str],
    rows: int = CHUNK_ROWS,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Read a CSV, predict, write a CSV, `rows` rows at a time; the result does not depend on `rows`.

    progress: called now and then with the bytes read so far. Raises ValueError with a readable message for a file that
    cannot be used; what was at `out_path` then stays. A row with more cells than the header is refused as a row.
    """
    from fastmode import catalog

    def work(frame: pd.DataFrame) -> pd.DataFrame:
        missing = [column for column in (*IDENTITIES, "input_tokens") if column not in frame.columns]
        if not {"concurrency", "concurrency_or_batch"} & set(frame.columns):
            missing.append("concurrency")
        if missing:
            raise ValueError(_("{path} lacks the columns {columns}").format(path=in_path, columns=", ".join(missing)))
        return predict(frame, catalog.load())

    convert(in_path, out_path, work, OUTPUTS, rows, progress)


class _Cells:
    """Cells of a table as numbers or codes; the first cell of a row that cannot be used sets the row's status."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.status: list[str] = [""] * len(frame)
        self._text: dict[str, list[str]] = {}

    def text(self, column: str) -> list[str]:
        """Stripped texts; empty where the column or the cell is missing."""
        if column not in self._text:
            cells = self.frame[column].tolist() if column in self.frame.columns else [""] * len(self.frame)
            texts = ["" if cell is None or cell is pd.NA or cell != cell else str(cell).strip() for cell in cells]
            self._text[column] = ["" if text.lower() == "nan" else text for text in texts]
        return self._text[column]

    def fail(self, i: int, message: str) -> None:
        """Set the status of row i unless it has one."""
        self.status[i] = self.status[i] or message

    def number(
        self, column: str, least: float, most: float, empty: float | None = None, whole: bool = False
    ) -> NDArray:
        """Numbers from `least` to `most`; `empty` stands for an empty cell, which is refused when it is None."""
        texts = self.text(column)
        values = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(dtype=np.float64, copy=True)
        blank = np.array([text == "" for text in texts], dtype=bool)
        if empty is not None:
            values[blank] = empty
        wrong = ~((values >= least) & (values <= most)) | ((values != np.floor(values)) & whole)
        if empty is not None:
            wrong &= ~blank
        for i in np.flatnonzero(wrong):
            if blank[i]:
                self.fail(i, _("{column} is empty").format(column=column))
            else:
                message = (
                    _("{column}: not a whole number from {least:,.0f} to {most:,.0f}: {cell}") if whole
                    else _("{column}: not a number from {least:,.0f} to {most:,.0f}: {cell}")
                )  # fmt: skip
                self.fail(i, message.format(column=column, least=least, most=most, cell=texts[i][:40]))
        values[wrong] = max(least, 1.0)
        return values

    def chips(self, chips: NDArray, layout: dict[str, NDArray], most: float) -> NDArray:
        """Chips of each row, tp x pp x dp where only the layout is given; 0 = the fewest that fit.

        tp x pp must not exceed them. dp may: data-parallel attention shares the same chips.
        """
        tensor_pipeline = np.maximum(layout["tp"], 1.0) * np.maximum(layout["pp"], 1.0)
        stated = tensor_pipeline * np.maximum(layout["dp"], 1.0)
        open_ = chips == 0
        for i in np.flatnonzero(open_ & (layout["tp"] > 0) & (stated > most)):
            self.fail(i, _("tp x pp x dp is {product:,.0f}: must be from 1 to {most:,.0f} (n_chips)").format(
                product=stated[i], most=most))  # fmt: skip
        for i in np.flatnonzero(~open_ & (tensor_pipeline > chips)):
            self.fail(i, _("tp x pp is {product:,.0f}: must be from 1 to {chips:,.0f} (n_chips)").format(
                product=tensor_pipeline[i], chips=chips[i]))  # fmt: skip
        return np.where(open_ & (layout["tp"] > 0), np.minimum(stated, most), chips)

    def identity(self, column: str, known: pd.Index) -> NDArray:
        """Row of each id in the catalogue, -1 for an unknown one."""
        texts = self.text(column)
        codes = known.get_indexer(pd.Index(texts, dtype=object))
        for i in np.flatnonzero(codes < 0):
            self.fail(i, _("unknown {column}: {cell}").format(column=column, cell=texts[i][:40] or _("empty")))
        return codes.astype(np.int64)

    def precision(self, column: str) -> NDArray:
        """Precision codes, -1 for an empty cell."""
        texts = self.text(column)
        codes = {text: precision_code(text) for text in set(texts)}
        for i, text in enumerate(texts):
            if codes[text] is None:
                self.fail(i, _("unknown {column}: {cell} (known: {known})").format(
                    column=column, cell=text[:40], known=", ".join(PRECISIONS)))  # fmt: skip
        return np.array([-1 if codes[text] is None else codes[text] for text in texts], dtype=np.int64)


def _drafts(cells: _Cells, catalog: Catalog) -> tuple[NDArray, NDArray, NDArray]:
    """Accept-length curve, drafted tokens and whether the method is unknown, of each `spec_decode` cell.

    Too many drafted tokens fail the row; an unknown method is predicted without drafts, which `extrapolation` says.

    A cell names a curve or a method, with the number of drafted tokens after it (`mtp3`, `eagle3:5`); a curve of the
    same model and method is preferred, then one of the same method.
    """
    texts, models = cells.text("spec_decode"), cells.text("model_id")
    ids = accept_curves(catalog)
    most = int(catalog.assumptions.at["draft_tokens", "max"])
    default = int(tables(catalog).constants.default_draft_tokens)

    def choose(text: str, model: str) -> tuple[int, int]:
        text = text.lower()
        if text in _NO_DRAFT:
            return -1, 0
        if text in ids:
            return ids.index(text), default
        apart = re.fullmatch(r"(.*?[a-z0-9])[^a-z0-9]+([0-9]+)", text)
        joined = None if text == "eagle3" else re.fullmatch(r"(.*?[a-z])([0-9]+)", text)
        method, count = (apart or joined).groups() if apart or joined else (text, None)
        # By length first: a long run of digits is no int.
        drafted = default if not count else int(count) if len(count.lstrip("0")) <= len(str(most)) else most + 1
        if method in ids:
            return ids.index(method), drafted
        known = next((word for word in METHODS if method.startswith(word)), "")
        same_method = [i for i, curve in enumerate(ids) if known and f"-{known}" in curve]
        same_model = [i for i in same_method if ids[i].startswith(model)]
        found = same_model or same_method
        return (found[0], drafted) if found else (-1, UNKNOWN_METHOD)

    chosen = {key: choose(*key) for key in set(zip(texts, models, strict=True))}
    pairs = [chosen[key] for key in zip(texts, models, strict=True)]
    for i, (_curve, drafted) in enumerate(pairs):
        if drafted > most:
            cells.fail(i, _("spec_decode: drafted tokens not a whole number from 0 to {most}: {cell}").format(
                most=most, cell=texts[i][:40]))  # fmt: skip
    draft = np.array([p[1] for p in pairs], dtype=np.float64)
    return np.array([p[0] for p in pairs], dtype=np.int64), np.maximum(draft, 0.0), draft == UNKNOWN_METHOD


def _sound(values: NDArray) -> NDArray:
    """Finite, positive and not so small that digits are lost (denormal)."""
    return np.isfinite(values) & (values >= np.finfo(np.float64).tiny)


def _usable(prepared: Prepared, service: Service) -> NDArray:
    """Rows whose cells are all right and whose configuration has figures."""
    return (np.array(prepared.status, dtype=object) == "") & (service.status == 0)


def _extrapolation(prepared: Prepared, service: Service, ok: NDArray) -> NDArray:
    """In which way a row lies outside what has been measured, joined by "+"; `no` where it does not, empty where not ok."""
    bits = service.outside | np.where(prepared.unknown_method, 1 << OUTSIDE.index("speculation"), 0)
    codes = 2 * bits + (prepared.unknown_output & ~prepared.pure)
    names = {
        code: "+".join(outside_words(code // 2) + ["output_tokens"] * (code % 2)) or "no" for code in np.unique(codes)
    }
    return np.where(ok, [names[code] for code in codes], "")
