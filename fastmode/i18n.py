"""Translation of everything a person reads, on top of gettext.

The msgid is the English text, so English needs no catalogue. A catalogue of another language is
``fastmode/locale/<language>/LC_MESSAGES/fastmode.mo``.

The language belongs to the running context (a context variable), not to the process: two sessions served by one
process may read different languages at the same time.
"""

import gettext
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

DOMAIN = "fastmode"
LOCALE_DIR = Path(__file__).parent / "locale"
DEFAULT_LANGUAGE = "en"

_language: ContextVar[str] = ContextVar("fastmode_language", default=DEFAULT_LANGUAGE)


def languages(localedir: Path = LOCALE_DIR) -> tuple[str, ...]:
    """Language codes that can be shown: English, then those with a catalogue, sorted."""
    found = {path.parent.parent.name for path in Path(localedir).glob(f"*/LC_MESSAGES/{DOMAIN}.mo")}
    return (DEFAULT_LANGUAGE, *sorted(found - {DEFAULT_LANGUAGE}))


@lru_cache(maxsize=32)
def _catalogue(language: str, localedir: str) -> gettext.NullTranslations:
    if language == DEFAULT_LANGUAGE:
        return gettext.NullTranslations()
    # The code may come from a link and becomes part of a path: only a listed language is looked up.
    if language not in languages(Path(localedir)):
        return gettext.NullTranslations()
    return gettext.translation(DOMAIN, localedir=localedir, languages=[language], fallback=True)


def set_language(language: str) -> None:
    """Choose the language of the current context; one without a catalogue reads as English."""
    _language.set(language)


def get_language() -> str:
    """Language code of the current context."""
    return _language.get()


def _(message: str) -> str:
    """The message in the language of the current context."""
    # gettext answers the empty msgid with the catalogue's header.
    return _catalogue(_language.get(), str(LOCALE_DIR)).gettext(message) if message else ""


def ngettext(singular: str, plural: str, n: int) -> str:
    """The singular or plural message for ``n``, in the language of the current context."""
    return _catalogue(_language.get(), str(LOCALE_DIR)).ngettext(singular, plural, n)


def N_(message: str) -> str:
    """Mark a message declared at import time; it is translated with ``_`` when it is shown."""
    return message
