"""Translations: English without a catalogue, another language with one, and no mixing between contexts."""

import contextvars
import struct

import pytest

from fastmode import i18n


def catalogue(pairs: dict[str, str]) -> bytes:
    """A GNU .mo file: header, two tables of (length, offset), zero-terminated texts."""
    ids = sorted(pairs)
    texts = [[text.encode() for text in group] for group in (ids, [pairs[key] for key in ids])]
    offset, tables, blob = 28 + 16 * len(ids), b"", b""
    for group in texts:
        for text in group:
            tables += struct.pack("<2I", len(text), offset + len(blob))
            blob += text + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, len(ids), 28, 28 + 8 * len(ids), 0, 0) + tables + blob


@pytest.fixture
def french(tmp_path, monkeypatch):
    header = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n > 1);\n"
    folder = tmp_path / "fr" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    pairs = {"": header, "Speed": "Vitesse", "chip\0chips": "puce\0puces"}
    (folder / "fastmode.mo").write_bytes(catalogue(pairs))
    monkeypatch.setattr(i18n, "LOCALE_DIR", tmp_path)
    return tmp_path


def in_language(language, call, *arguments):
    def run():
        i18n.set_language(language)
        return call(*arguments)

    return contextvars.Context().run(run)


def test_english_is_the_text_itself():
    assert (i18n._("Speed"), i18n.N_("Speed"), i18n._("")) == ("Speed", "Speed", "")
    assert [i18n.ngettext("chip", "chips", n) for n in (1, 2)] == ["chip", "chips"]


def test_a_language_with_a_catalogue_is_offered_and_used(french):
    assert i18n.languages(french) == ("en", "fr")
    assert in_language("fr", i18n._, "Speed") == "Vitesse"
    assert in_language("fr", i18n._, "Batch") == "Batch"
    assert in_language("fr", i18n._, "") == ""
    assert [in_language("fr", i18n.ngettext, "chip", "chips", n) for n in (0, 1, 2)] == ["puce", "puce", "puces"]


def test_one_session_does_not_change_the_language_of_another(french):
    one, other = contextvars.Context(), contextvars.Context()
    one.run(i18n.set_language, "fr")
    assert (one.run(i18n._, "Speed"), other.run(i18n._, "Speed"), i18n._("Speed")) == ("Vitesse", "Speed", "Speed")


@pytest.mark.parametrize("language", ["xx", "", "../fr", "fr/../fr"])
def test_an_unknown_language_reads_as_english(french, language):
    assert in_language(language, i18n._, "Speed") == "Speed"
