"""The catalogues of translations: up to date, complete, and compiled."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ckan as ckan_package
import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po

import ckanext.harvest as harvest_package
from ckanext.freshness.aging import frequency
from ckanext.freshness.reporting.harvests import HARVEST_WORDS
from ckanext.harvest.model import UPDATE_FREQUENCIES

ROOT = Path(__file__).parents[3]
I18N = ROOT / "ckanext" / "freshness" / "i18n"
TEMPLATE = I18N / "ckanext-freshness.pot"
LOCALES = sorted(path.name for path in I18N.iterdir() if path.is_dir())

Texts = dict[Any, Any]


def catalogue(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file)


def messages(catalog: Catalog) -> list[Message]:
    """All but the header."""
    return [message for message in catalog if message.id]


def file_of(locale: str, suffix: str) -> Path:
    return I18N / locale / "LC_MESSAGES" / f"ckanext-freshness.{suffix}"


def texts(catalog: Catalog) -> Texts:
    return {plain(message.id): plain(message.string) for message in messages(catalog)}


def plain(text: Any) -> Any:
    """A plural is a list in some files and a tuple in others."""
    return text if isinstance(text, str) else tuple(text)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="about a git checkout")
def test_the_template_has_all_texts_of_now(tmp_path: Path) -> None:
    made = tmp_path / "made.pot"
    command = [sys.executable, "setup.py", "-q", "extract_messages", f"--output-file={made}"]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    assert texts(catalogue(TEMPLATE)).keys() == texts(catalogue(made)).keys(), (
        "run: python setup.py extract_messages update_catalog"
    )


def test_the_tables_of_words_are_in_the_template() -> None:
    tables = {
        *frequency.WORDS.values(),
        frequency.EVERY_N_DAYS,
        frequency.EVERY_N_YEARS,
        *frequency.EXPLANATIONS.values(),
    }
    assert not tables - texts(catalogue(TEMPLATE)).keys()


SHOWN = (
    *(
        "source/search.html",
        "source/new.html",
        "source/edit.html",
        "source/base.html",
        "source/read_base.html",
    ),
    *("source/about.html", "snippets/source_item.html", "snippets/add_source_button.html"),
    *("snippets/search_result_text.html", "snippets/package_list_empty.html"),
)
"""The templates of ckanext-harvest of which our sources' pages still show texts."""


def test_the_texts_of_ckanext_harvest_are_ours_or_those_of_ckan() -> None:
    ckan = read_mo(
        (Path(str(ckan_package.__file__)).parent / "i18n/de/LC_MESSAGES/ckan.mo").open("rb")
    )
    known = {plain(message.id) for message in ckan if message.id} | {*HARVEST_WORDS}
    known |= {one for text in known if isinstance(text, tuple) for one in text}
    folder = Path(str(harvest_package.__file__)).parent
    marked = {
        text[1:-1]
        for name in SHOWN
        for text in re.findall(
            r"""_\(('[^'\n]*'|"[^"\n]*")\)""", (folder / "templates" / name).read_text()
        )
    }
    marked |= {frequency.title() for frequency in UPDATE_FREQUENCIES}
    assert len(marked) > 20
    assert marked - known == set()


def test_there_is_a_translation() -> None:
    assert {"de", "es", "fr"} <= set(LOCALES)


@pytest.mark.parametrize("locale", LOCALES)
def test_a_translation_is_complete(locale: str) -> None:
    wanted = texts(catalogue(TEMPLATE))
    translated = catalogue(file_of(locale, "po"))
    assert texts(translated).keys() == wanted.keys()
    for message in messages(translated):
        string = plain(message.string)
        strings = (string,) if isinstance(string, str) else string
        assert all(strings), f"{locale} lacks: {message.id}"
        assert not message.fuzzy, message.id
        assert not list(message.check(translated)), message.id
        forms = (message.id,) if isinstance(message.id, str) else tuple(message.id)
        # The English singular may leave out the number.
        assert braces(strings[0]) in map(braces, forms), message.id
        assert all(braces(string) == braces(forms[-1]) for string in strings[1:]), message.id


def test_german_datasets_need_no_people() -> None:
    """ "Datensätze brauchen Sie" says the opposite of what is meant."""
    strings = texts(catalogue(file_of("de", "po"))).values()
    assert not [one for one in strings if re.search(r"Daten\w+ brauch(t|en) Sie\b", str(one))]


def braces(text: str) -> set[str]:
    """The names in braces, which Babel's own check leaves out."""
    return set(re.findall(r"\{(\w*)\}", text))


@pytest.mark.parametrize("locale", LOCALES)
def test_a_translation_is_compiled(locale: str) -> None:
    with file_of(locale, "mo").open("rb") as file:
        compiled = read_mo(file)
    assert texts(compiled) == texts(catalogue(file_of(locale, "po")))
