"""The command line: `python -m fastmode COMMAND`, the same engine as the pages."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Any

import numpy as np

from fastmode.catalog import CatalogError
from fastmode.i18n import _

EXIT_UNREADABLE = 2
PROGRESS_AFTER_S = 1.0  # shorter work needs no bar
NARROW_SCREEN = 80  # columns, where a terminal does not tell its width


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code (2 for an unreadable file or broken data)."""
    parser = argparse.ArgumentParser(
        prog="python -m fastmode", description=_("Is a faster way of serving an LLM worth it?")
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fields", help=_("list all scenario fields as JSON"))
    evaluate = commands.add_parser("evaluate", help=_("evaluate a link or query string, as JSON"))
    evaluate.add_argument(
        "query", nargs="?", default="", help=_("address or query string; empty = the default scenario")
    )
    for name, about in (
        ("predict", _("predict TTFT and time per output token for rows of a CSV")),
        ("productivity", _("time and cost per accepted task for rows of a CSV")),
    ):
        command = commands.add_parser(name, help=about)
        command.add_argument("input")
        command.add_argument("-o", "--output", required=True)
    validate = commands.add_parser("validate", help=_("predicted against measured: errors by group as JSON"))
    validate.add_argument("query", nargs="?", default="", help=_("address or query string of the Validation tab"))
    validate.add_argument("-o", "--output", help=_("write the rows themselves to this CSV instead"))
    claims = commands.add_parser("claims", help=_("verdict on each claim of the founding articles, as CSV"))
    claims.add_argument("-o", "--output", required=True)
    calibrate = commands.add_parser("calibrate", help=_("refit the serving constants to the measured rows and judge them"))
    calibrate.add_argument("-o", "--output", help=_("folder to write to; data/ where none is given"))
    calibrate.add_argument("--force", action="store_true", help=_("write also what is worse than the stored fit"))
    given = parser.parse_args(arguments)
    try:
        return _COMMANDS[given.command](given)
    except CatalogError as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:  # the reader has seen enough; nothing is left to say, also not at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = error.filename or getattr(given, "output", None) or ""
        message = _("cannot read or write {path}: {reason}").format(path=place, reason=error.strerror or _("no such folder"))
        print(f"{given.command}: {message}", file=sys.stderr)
    except ValueError as error:
        print(f"{given.command}: {error}", file=sys.stderr)
    return EXIT_UNREADABLE


def evaluation_document(query: str) -> dict[str, Any]:
    """The JSON document of the command `evaluate` for an address or query string."""
    from fastmode import link
    from fastmode import scenario as scenarios
    from fastmode.cards import output_texts
    from fastmode.evaluate import evaluate
    from fastmode.verdict import judge

    scenario, ignored = link.from_query(query)
    evaluation = evaluate(scenario)
    edited = scenarios.option_edited(scenario)
    verdict = judge(evaluation, edited)
    texts = output_texts(evaluation)
    reason = evaluation.reason(evaluation.now) or evaluation.reason(evaluation.reference)
    # nothing of such a link was used
    unread = next((i.reason for i in ignored if not i.key), "") if len(ignored) == 1 and scenario == scenarios.default() else ""
    names = [f.name for f in dataclass_fields(scenario)]
    reference = scenarios.expand_preset(str(scenario.reference))
    return {
        "status": unread or reason or "ok",
        "verdict": verdict.text,
        "caveat": verdict.caveat,
        "scenario": {name: getattr(scenario, name) for name in names},
        "reference": {name: reference.get(name, getattr(scenario, name)) for name in names} | {"reference": scenario.reference},
        "ignored": [{"key": i.key, "value": i.value, "reason": i.reason} for i in ignored],
        "outputs": {
            name: {
                "value": _plain(o.value), "low": _plain(o.low), "high": _plain(o.high), "unit": o.unit, "kind": o.kind,
                "reference": _plain(o.reference), "text": texts.get(name, ""), "reason": o.reason,
            }
            for name, o in evaluation.outputs().items()
        },
    }  # fmt: skip


def _plain(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _fields(_given: argparse.Namespace) -> int:
    from fastmode.scenario import describe

    return _print(describe())


def _evaluate(given: argparse.Namespace) -> int:
    document = evaluation_document(given.query)
    for part in document["ignored"]:
        print(_("not used: {key}={value} ({reason})").format(**part), file=sys.stderr)
    return _print(document)


def _predict(given: argparse.Namespace) -> int:
    from fastmode.predict import main_predict

    with _progress(given) as progress:
        main_predict(given.input, given.output, progress=progress)
    return 0


def _productivity(given: argparse.Namespace) -> int:
    from fastmode.productivity_csv import run

    with _progress(given) as progress:
        run(given.input, given.output, progress=progress)
    return 0


def _claims(given: argparse.Namespace) -> int:
    from fastmode.claims import claims_table

    claims_table().to_csv(given.output, index=False, lineterminator="\n")
    return 0


def validation_document(query: str) -> dict[str, Any]:
    """The JSON document of the command `validate`: the figures of the Validation tab for an address or query string."""
    from fastmode import link, validation, validation_sram
    from fastmode.catalog import load
    from fastmode.slo import batch_met

    view, unused = validation.from_query(query)
    scenario, ignored = link.from_query(query)
    near = validation.nearest(
        str(scenario.model), str(scenario.hardware), str(scenario.engine), batch_met(scenario, load()), float(scenario.context_tokens),
    )  # fmt: skip
    unused = [{"key": key, "value": value, "reason": reason} for key, value, reason in unused]
    return validation.report(view) | {
        "ignored": [{"key": i.key, "value": i.value, "reason": i.reason} for i in ignored] + unused,
        "nearest": validation.nearest_document(near),
        "sram": validation_sram.document(load()),
    }


def _validate(given: argparse.Namespace) -> int:
    from fastmode import validation

    if given.output is not None:
        validation.points(validation.from_query(given.query)[0]).to_csv(given.output, index=False, lineterminator="\n")
        return 0
    document = validation_document(given.query)
    for part in document["ignored"]:
        print(_("not used: {key}={value} ({reason})").format(**part), file=sys.stderr)
    return _print(document)


def _calibrate(given: argparse.Namespace) -> int:
    from tqdm import tqdm

    from fastmode.calibration import calibrate, fit_count, summary, write
    from fastmode.catalog import DATA_DIR, load

    folder = DATA_DIR if given.output is None else Path(given.output)
    if given.output == "" or (folder.exists() and not folder.is_dir()):
        raise ValueError(_("not a folder: {path}").format(path=repr(given.output)))
    folder.mkdir(parents=True, exist_ok=True)  # before the work, so that an impossible place is told at once
    catalog = load()
    with tqdm(total=fit_count(catalog), desc=given.command, unit=_("fit"), leave=False, disable=None) as bar:
        found = calibrate(catalog, bar.update)
    print(summary(found))
    for path in write(found, folder, given.force):
        print(_("written: {path}").format(path=path))
    return 0


@contextmanager
def _progress(given: argparse.Namespace) -> Iterator[Callable[[int], None]]:
    """What to call with the bytes read so far of the input: a bar where a person watches and waits, else nothing."""
    from tqdm import tqdm

    # Known only of a regular file; a pipe is counted without an end.
    size = os.path.getsize(given.input) if os.path.isfile(given.input) else None
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (AttributeError, OSError, ValueError):
        columns = 0
    with tqdm(  # nrows: a terminal that tells no size would hide it
        total=size, desc=given.command, unit="B", unit_scale=True, leave=False, disable=None, delay=PROGRESS_AFTER_S,
        ncols=columns or NARROW_SCREEN, nrows=2,
    ) as bar:  # fmt: skip
        yield lambda bytes_read: bar.update(bytes_read - bar.n)


def _print(document: Any) -> int:
    print(json.dumps(document, ensure_ascii=False, indent=1))
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "fields": _fields,
    "evaluate": _evaluate,
    "predict": _predict,
    "productivity": _productivity,
    "claims": _claims,
    "validate": _validate,
    "calibrate": _calibrate,
}
