"""Speeds of the deployments listed in a table: `python -m fastmode predict IN.csv -o OUT.csv`.

One row out per row in, in the same order; a row that cannot be predicted says why in `status`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fastmode.i18n import _
from fastmode.serving import PRECISIONS, Service, ServingConfig, accept_curves, engine_code, precision_code, serve
from fastmode.serving.tables import tables

if TYPE_CHECKING:
    from fastmode.catalog import Catalog

IDENTITIES = ("model_id", "hardware_id")
OUTPUTS = (
    "ttft_ms", "tpot_ms", "output_tok_s_per_user", "output_tok_s_per_chip", "tpot_ms_low", "tpot_ms_high",
    "ttft_ms_low", "ttft_ms_high", "extrapolation", "status",
)  # fmt: skip
MS_PER_S = 1e3
PURE_DECODE = "A"
_NO_DRAFT = frozenset({"", "none", "no", "off", "0", "false", "nan"})
_ENDLESS_TOKENS = 1e9


def predict(frame: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """The input table with `OUTPUTS` added (replaced where a column of that name exists).

    `concurrency` (or `concurrency_or_batch`) requests are in flight; what does not fit in memory waits. Times are
    milliseconds. `clean_grade` A is a pure decode step at context `input_tokens`: no scheduler, no prefill, no time to
    first token. An empty `output_tokens` leaves the prefill of the other requests out, which `extrapolation` says.
    """
    rows = len(frame)
    cells = _Cells(frame)
    model = cells.identity("model_id", catalog.models.index)
    hardware = cells.identity("hardware_id", catalog.hardware.index)
    fresh = cells.number("input_tokens", least=0.0)
    output = cells.number("output_tokens", least=1.0, empty=np.nan)
    name = "concurrency" if "concurrency" in frame.columns else "concurrency_or_batch"
    concurrency = cells.number(name, least=1.0)
    layout = {column: cells.number(column, least=0.0, empty=0.0, whole=True) for column in ("tp", "pp", "dp", "ep")}
    chips = cells.number("n_chips", least=0.0, empty=0.0, whole=True)
    layout["pp"] = np.maximum(layout["pp"], 1.0)
    stated = np.maximum(layout["tp"], 1.0) * layout["pp"] * np.maximum(layout["dp"], 1.0)
    chips = np.where((chips == 0) & (layout["tp"] > 0), stated, chips)
    weight = cells.precision("weight_precision")
    kv = cells.precision("kv_precision")
    engine = np.array([engine_code(text) for text in cells.text("engine")], dtype=np.int64)
    pure = np.array([text.upper() == PURE_DECODE for text in cells.text("clean_grade")], dtype=bool)
    curve, draft = _drafts(cells.text("spec_decode"), cells.text("model_id"), catalog)

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
    out = frame.drop(columns=[column for column in OUTPUTS if column in frame.columns])
    if rows == 0:
        return out.assign(**{column: pd.Series(dtype=object) for column in OUTPUTS})
    service = serve(config, catalog)
    status = [cells.status[i] or ("ok" if service.status[i] == 0 else service.reason(i)) for i in range(rows)]
    ok = np.array([text == "ok" for text in status])
    accepted = service.tpot_s if not pure.any() else np.where(pure, _pure_tpot(service), service.tpot_s)
    tpot = np.where(ok, accepted, np.nan)
    ttft = np.where(ok & ~pure, service.ttft_s, np.nan)
    rate = np.where(pure, service.decode_tokens_per_s, service.output_tokens_per_s)
    empty = np.full(rows, np.nan)
    added = {
        "ttft_ms": ttft * MS_PER_S,
        "tpot_ms": tpot * MS_PER_S,
        "output_tok_s_per_user": 1.0 / tpot,
        "output_tok_s_per_chip": np.where(ok, rate / service.n_chips, np.nan),
        "tpot_ms_low": empty,
        "tpot_ms_high": empty,
        "ttft_ms_low": empty,
        "ttft_ms_high": empty,
        "extrapolation": _extrapolation(model, hardware, unknown_output & ~pure, ok, catalog),
        "status": status,
    }
    return out.assign(**{column: added[column] for column in OUTPUTS})


def main_predict(in_path: str | os.PathLike[str], out_path: str | os.PathLike[str]) -> None:
    """Read a CSV, predict, write a CSV. Raises ValueError with a readable message for a file that cannot be used."""
    from fastmode import catalog

    try:
        frame = pd.read_csv(in_path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(_("cannot read {path}: {error}").format(path=in_path, error=error)) from error
    missing = [column for column in (*IDENTITIES, "input_tokens") if column not in frame.columns]
    if not {"concurrency", "concurrency_or_batch"} & set(frame.columns):
        missing.append("concurrency")
    if missing:
        raise ValueError(_("{path} lacks the columns {columns}").format(path=in_path, columns=", ".join(missing)))
    try:
        predict(frame, catalog.load()).to_csv(out_path, index=False)
    except OSError as error:
        raise ValueError(_("cannot write {path}: {error}").format(path=out_path, error=error)) from error


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

    def _fail(self, i: int, message: str) -> None:
        self.status[i] = self.status[i] or message

    def number(self, column: str, least: float, empty: float | None = None, whole: bool = False) -> NDArray:
        """Numbers of at least `least`; `empty` stands for an empty cell, which is refused when it is None."""
        texts = self.text(column)
        values = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(dtype=np.float64, copy=True)
        blank = np.array([text == "" for text in texts], dtype=bool)
        if empty is not None:
            values[blank] = empty
        wrong = ~((values >= least) & (values < np.inf)) | ((values != np.floor(values)) & whole)
        if empty is not None:
            wrong &= ~blank
        for i in np.flatnonzero(wrong):
            if blank[i]:
                self._fail(i, _("{column} is empty").format(column=column))
            elif whole:
                self._fail(i, _("{column}: not a whole number of at least {least:g}: {cell}").format(
                    column=column, least=least, cell=texts[i][:40]))  # fmt: skip
            else:
                self._fail(i, _("{column}: not a number of at least {least:g}: {cell}").format(
                    column=column, least=least, cell=texts[i][:40]))  # fmt: skip
        values[wrong] = max(least, 1.0)
        return values

    def identity(self, column: str, known: pd.Index) -> NDArray:
        """Row of each id in the catalogue, -1 for an unknown one."""
        texts = self.text(column)
        codes = known.get_indexer(pd.Index(texts, dtype=object))
        for i in np.flatnonzero(codes < 0):
            self._fail(i, _("unknown {column}: {cell}").format(column=column, cell=texts[i][:40] or _("empty")))
        return codes.astype(np.int64)

    def precision(self, column: str) -> NDArray:
        """Precision codes, -1 for an empty cell."""
        texts = self.text(column)
        codes = {text: precision_code(text) for text in set(texts)}
        for i, text in enumerate(texts):
            if codes[text] is None:
                self._fail(i, _("unknown {column}: {cell} (known: {known})").format(
                    column=column, cell=text[:40], known=", ".join(PRECISIONS)))  # fmt: skip
        return np.array([-1 if codes[text] is None else codes[text] for text in texts], dtype=np.int64)


def _drafts(texts: list[str], models: list[str], catalog: Catalog) -> tuple[NDArray, NDArray]:
    """Accept-length curve and drafted tokens of each `spec_decode` cell.

    A cell names a curve or a method, with the number of drafted tokens after it (`mtp3`, `eagle3:5`); a curve of the
    same model and method is preferred, then one of the same method, then the first.
    """
    ids = accept_curves(catalog)
    default = int(tables(catalog).constants.default_draft_tokens)

    def choose(text: str, model: str) -> tuple[int, int]:
        text = text.lower()
        if text in _NO_DRAFT:
            return -1, 0
        if text in ids:
            return ids.index(text), default
        parsed = re.fullmatch(r"(.*?[a-z])(?:[^a-z0-9]+(\d+)|(\d+))?", text)
        method, count = (parsed.group(1), parsed.group(2) or parsed.group(3)) if parsed else (text, None)
        if text.startswith("eagle") and count == "3" and parsed and parsed.group(3):
            method, count = "eagle3", None
        drafted = int(count) if count else default
        if method in ids:
            return ids.index(method), drafted
        same_method = [i for i, curve in enumerate(ids) if method[:5] in curve]
        same_model = [i for i in same_method if ids[i].startswith(model)]
        return next(iter(same_model or same_method or range(len(ids)))), drafted

    chosen = {key: choose(*key) for key in set(zip(texts, models, strict=True))}
    pairs = [chosen[key] for key in zip(texts, models, strict=True)]
    return np.array([p[0] for p in pairs], dtype=np.int64), np.array([p[1] for p in pairs], dtype=np.float64)


def _pure_tpot(service: Service) -> NDArray:
    """Time per output token of a pure decode step: sequences / decode rate."""
    return service.batch / service.decode_tokens_per_s


def _extrapolation(model: NDArray, hardware: NDArray, no_output: NDArray, ok: NDArray, catalog: Catalog) -> NDArray:
    """Which of hardware, model and output length no measured row supports; `no` where all are supported."""
    table = tables(catalog)
    words = np.where(table.measured_hardware[hardware], "", "hardware+").astype(object)
    words = words + np.where(table.measured_model[model], "", "model+") + np.where(no_output, "output_tokens+", "")
    return np.where(ok, [word.rstrip("+") or "no" for word in words], "")
