"""The command line: `python -m fastmode COMMAND`, the same engine as the pages."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import fields as dataclass_fields
from typing import Any

import numpy as np

from fastmode.catalog import CatalogError
from fastmode.i18n import _

EXIT_UNREADABLE = 2


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
    claims = commands.add_parser("claims", help=_("verdict on each claim of the founding articles, as CSV"))
    claims.add_argument("-o", "--output", required=True)
    given = parser.parse_args(arguments)
    try:
        return _COMMANDS[given.command](given)
    except CatalogError as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:  # the reader has seen enough; nothing is left to say, also not at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError) as error:
        print(f"{given.command}: {error}", file=sys.stderr)
    return EXIT_UNREADABLE


def evaluation_document(query: str) -> dict[str, Any]:
    """The JSON document of the command `evaluate` for an address or query string."""
    from fastmode import link
    from fastmode import scenario as scenarios
    from fastmode.cards import output_texts
    from fastmode.evaluate import evaluate
    from fastmode.verdict import judge, swings

    scenario, ignored = link.from_query(query)
    evaluation = evaluate(scenario)
    edited = scenarios.option_edited(scenario)
    verdict = judge(evaluation, evaluate(swings(scenario, evaluation.catalog)), edited)
    texts = output_texts(evaluation)
    reason = evaluation.reason(evaluation.now) or evaluation.reason(evaluation.reference)
    unread = next((i.reason for i in ignored if not i.key), "")  # nothing of such a link was used
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

    main_predict(given.input, given.output)
    return 0


def _productivity(given: argparse.Namespace) -> int:
    from fastmode.productivity_csv import run

    run(given.input, given.output)
    return 0


def _claims(given: argparse.Namespace) -> int:
    from fastmode.claims import claims_table

    claims_table().to_csv(given.output, index=False, lineterminator="\n")
    return 0


def _print(document: Any) -> int:
    print(json.dumps(document, ensure_ascii=False, indent=1))
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "fields": _fields,
    "evaluate": _evaluate,
    "predict": _predict,
    "productivity": _productivity,
    "claims": _claims,
}
