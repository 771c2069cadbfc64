"""Mistakes made on purpose in the source text of modules, to see that a check notices them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest


def mutated(monkeypatch: pytest.MonkeyPatch, modules: Sequence[ModuleType], right: str, wrong: str) -> list[ModuleType]:
    """The modules with `wrong` in the place of `right`; each may use those before it, and those after the mistake are loaded upon it.

    Raises ValueError unless they hold the right text exactly once together: a text that is gone is no mistake noticed.
    """
    texts = [Path(module.__file__).read_text(encoding="utf-8") for module in modules]
    if sum(text.count(right) for text in texts) != 1:
        raise ValueError(f"{right!r} must stand exactly once in {', '.join(m.__name__ for m in modules)}")
    first = next(i for i, text in enumerate(texts) if right in text)
    texts[first] = texts[first].replace(right, wrong)
    made = list(modules[:first])
    for module, text in zip(modules[first:], texts[first:], strict=True):
        anew = ModuleType(module.__name__)
        monkeypatch.setitem(sys.modules, module.__name__, anew)  # for those that import it, and for dataclasses
        exec(compile(text, module.__file__, "exec"), anew.__dict__)
        made.append(anew)
    return made
