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
from ckanext.harvest.model import UPDATE_FREQUENCIES

ROOT = Path(__file__).parents[3]
TEMPLATES = sorted((ROOT / "ckanext").glob("*/i18n/*.pot"))
TEMPLATE = ROOT / "ckanext" / "freshness" / "i18n" / "ckanext-freshness.pot"
FILES = sorted((ROOT / "ckanext").glob("*/i18n/*/LC_MESSAGES/*.po"))

Texts = dict[Any, Any]


def named(file: Path) -> str:
    """Name a translation in the ids of tests."""
    return f"{file.stem}-{file.parts[-3]}"


def catalogue(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file)


def messages(catalog: Catalog) -> list[Message]:
    """All but the header."""
    return [message for message in catalog if message.id]


def texts(catalog: Catalog) -> Texts:
    return {plain(message.id): plain(message.string) for message in messages(catalog)}


def plain(text: Any) -> Any:
    """A plural is a list in some files and a tuple in others."""
    return text if isinstance(text, str) else tuple(text)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="about a git checkout")
def test_the_template_has_all_texts_of_now(tmp_path: Path) -> None:
    made = f"{tmp_path}/{{domain}}.pot"
    command = [sys.executable, "setup.py", "-q", "extract_messages", f"--output-file={made}"]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    assert {path.name for path in TEMPLATES} == {path.name for path in tmp_path.iterdir()}
    for path in TEMPLATES:
        assert texts(catalogue(path)).keys() == texts(catalogue(tmp_path / path.name)).keys(), (
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
    known = {plain(message.id) for message in ckan if message.id} | {*texts(catalogue(TEMPLATE))}
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
    for template in TEMPLATES:
        assert {"de", "es", "fr"} <= {path.name for path in template.parent.iterdir()}


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_translation_is_complete(file: Path) -> None:
    wanted = texts(catalogue(file.parents[2] / f"{file.stem}.pot"))
    translated = catalogue(file)
    assert texts(translated).keys() == wanted.keys()
    for message in messages(translated):
        string = plain(message.string)
        strings = (string,) if isinstance(string, str) else string
        assert all(strings), f"{file} lacks: {message.id}"
        assert not message.fuzzy, message.id
        assert not list(message.check(translated)), message.id
        forms = (message.id,) if isinstance(message.id, str) else tuple(message.id)
        # The English singular may leave out the number.
        assert braces(strings[0]) in map(braces, forms), message.id
        assert all(braces(string) == braces(forms[-1]) for string in strings[1:]), message.id


def braces(text: str) -> set[str]:
    """The names in braces, which Babel's own check leaves out."""
    return set(re.findall(r"\{(\w*)\}", text))


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_translation_is_compiled(file: Path) -> None:
    with file.with_suffix(".mo").open("rb") as binary:
        compiled = read_mo(binary)
    assert texts(compiled) == texts(catalogue(file))
