"""Detection of IATI files."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.copies.store import StagedBody
from ckanext.freshness.web.exchange import Enough
from ckanext.freshness_iati.iati_file import (
    FIRST_CHARACTERS,
    INITIAL_CHARACTERS,
    IatiFileSink,
)

ROOT = '<iati-activities version="2.03">'
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def look(data: bytes, *cuts: int) -> tuple[str | None, str | None]:
    """Return why it is no IATI file, and else its first characters."""
    with StagedBody() as staged:
        sink, start = IatiFileSink(staged), 0
        try:
            for cut in [*sorted(cuts), len(data)]:
                sink.write(data[start:cut])
                start = max(start, cut)
        except Enough:
            return sink.problem, None
        found = sink.finish()
        return sink.problem, found and found.initial_contents


def comment(characters: int, filling: str = "x") -> str:
    """Return a comment of this length."""
    return f"<!--{filling * (characters - 7)}-->"


LAUGHS = (
    "<!DOCTYPE iati-activities [<!ENTITY a0 'ha'>"
    + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 10))
    + "]>"
)
EXTERNAL = (
    '<!DOCTYPE iati-activities SYSTEM "http://127.0.0.1:1/x.dtd" ['
    '<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY % b SYSTEM "http://127.0.0.1:1/y"> %b;]>'
)

IATI: dict[str, str] = {
    "bare": ROOT,
    "a declaration": XML + ROOT,
    "white space": f"\n  {ROOT}",
    "comments": f"{XML}<!-- <html> --><!-- > -->{ROOT}",
    "a stylesheet": f'{XML}<?xml-stylesheet type="text/xsl" href="a.xsl"?>{ROOT}',
    "a DOCTYPE": f"{XML}<!DOCTYPE iati-activities>{ROOT}",
    "a prefix": '<iati:iati-activities xmlns:iati="http://example.org/">',
    "billion laughs": f'{XML}{LAUGHS}<iati-activities version="&a9;">&a9;',
    "external entities": f"{XML}{EXTERNAL}<iati-activities>&a;",
    "another encoding declared": f'<?xml version="1.0" encoding="UTF-16"?>{ROOT}',
    "an encoding of host names": f'<?xml version="1.0" encoding="idna"?>{ROOT}',
    "many characters of many bytes": comment(FIRST_CHARACTERS - len(ROOT), "語") + ROOT,
}


@pytest.mark.parametrize("text", IATI.values(), ids=IATI)
def test_iati_files(text: str) -> None:
    data = text.encode()
    assert look(data)[0] is None
    assert look(data, *range(len(data))) == look(data)


NONE: dict[str, tuple[str, str]] = {
    "empty": ("", "is empty"),
    "HTML": ("<!DOCTYPE html>\n<html><head>", "is no IATI file: its root element is <html>"),
    "JSON": ('{"iati-activities": []}', "is no XML: "),
    "longer name": ("<iati-activitiesfoo/>", "root element is <iati-activitiesfoo>"),
    "truncated root": ('<iati-activities version="2', "is no XML: unclosed token"),
    "in a comment": (f"<!-- {ROOT} -->", "is no XML: no element found"),
    "does not fit": (comment(FIRST_CHARACTERS - len(ROOT) + 1) + ROOT, "has no whole opening tag"),
    "character 0": (f"\0{ROOT}x", "is no XML: "),
}


@pytest.mark.parametrize(("text", "words"), NONE.values(), ids=NONE)
def test_other_files(text: str, words: str) -> None:
    data = text.encode()
    problem, _ = look(data)
    assert problem is not None and words in problem
    assert look(data, *range(len(data)))[0] == problem


@pytest.mark.parametrize("text", [f"{XML}{ROOT}", f"<!-- 語 -->{ROOT}"])
@pytest.mark.parametrize(
    "encoding",
    [
        *("utf-8", "utf-8-sig", "utf-16", "utf-32"),
        *("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"),
    ],
)
def test_encodings_that_the_beginning_tells(text: str, encoding: str) -> None:
    assert look(text.encode(encoding))[0] is None


@pytest.mark.parametrize("declared", ["ISO-8859-1", "windows-1252", "Shift_JIS", "gb18030", "Big5"])
def test_declared_encodings(declared: str) -> None:
    text = f'<?xml version="1.0" encoding="{declared}"?><!-- {"é" if "-" in declared else "中"} -->'
    assert look((text + ROOT).encode(declared)) == (None, text + ROOT)


@pytest.mark.parametrize(
    ("data", "initial"),
    [
        (ROOT.encode() + b"a\0b", f"{ROOT}a\ufffdb"),
        (codecs.BOM_UTF8 + ROOT.encode(), ROOT),
        ((ROOT + "語" * 200).encode(), (ROOT + "語" * 200)[:INITIAL_CHARACTERS]),
    ],
)
def test_the_first_characters(data: bytes, initial: str) -> None:
    assert look(data) == look(data, *range(len(data))) == (None, initial)


texts = st.lists(
    st.sampled_from(
        [
            *(XML, ROOT, "<", ">", "<iati-activities", "<!--", "-->", " ", "\n", "語", "&a;", "\0"),
            *(LAUGHS, EXTERNAL, "<!DOCTYPE a [", "]>", "<?", "?>", "'", '"', "\ufeff", "a:"),
        ]
    ),
    max_size=12,
).map("".join)


@given(texts, st.sampled_from(["utf-8", "utf-16", "utf-32", "utf-16-be"]), st.data())
def test_the_verdict_does_not_depend_on_where_it_is_cut(
    text: str, encoding: str, data: st.DataObject
) -> None:
    body = text.encode(encoding)
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=8))
    assert look(body) == look(body, *cuts)
