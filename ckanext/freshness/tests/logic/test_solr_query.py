"""Clauses about the status in all the ways that Solr's query parser reads, as a table."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.aging.status import Status
from ckanext.freshness.logic.solr_query import StatusQueryError, clause, rewrite

NOW = datetime(2026, 3, 1, 12, 30, 15, 999999, tzinfo=timezone.utc)
AT = "2026-03-01T12:30:15Z"
FRESH = f"(freshness_due_date:{{{AT} TO *] OR (freshness:fresh -freshness_due_date:[* TO *]))"
DUE = f"(freshness_due_date:[* TO {AT}] AND freshness_overdue_date:{{{AT} TO *])"
OVERDUE = f"(freshness_overdue_date:[* TO {AT}] AND freshness_delinquent_date:{{{AT} TO *])"
DELINQUENT = f"(freshness_delinquent_date:[* TO {AT}])"
UNAVAILABLE = "(freshness:unavailable)"


@pytest.mark.parametrize(
    ("query", "rewritten"),
    [
        ("freshness:fresh", FRESH),
        ("freshness:due", DUE),
        ("freshness:overdue", OVERDUE),
        ("freshness:delinquent", DELINQUENT),
        ("freshness:unavailable", UNAVAILABLE),
        ('freshness:"overdue"', OVERDUE),
        (' freshness:"overdue"', f" {OVERDUE}"),
        ("+freshness:due", f"+{DUE}"),
        ("-freshness:due", f"-{DUE}"),
        ("!freshness:due", f"!{DUE}"),
        ("NOT freshness:due", f"NOT {DUE}"),
        ("a:b NOT freshness:due", f"a:b NOT {DUE}"),
        ("tags:a +freshness:due -name:x", f"tags:a +{DUE} -name:x"),
        ("freshness : due", DUE),
        ("freshness :\n\tdue", DUE),
        ("freshness\u3000:due", DUE),
        ("fresh\\ness:due", DUE),
        ("\\u0066reshness:due", DUE),
        ("freshness:d\\ue", DUE),
        ('freshness:"d\\ue"', DUE),
        ("freshness:/* why */due", DUE),
        ("(freshness:due)", f"({DUE})"),
        ("filter(freshness:due)", f"filter({DUE})"),
        ("tags:(a freshness:due)", f"tags:(a {DUE})"),
        ("tags:a^2 freshness:due", f"tags:a^2 {DUE}"),
        ("tags:a^2freshness:due", f"tags:a^2{DUE}"),
        ("tags:a~freshness:due", f"tags:a~{DUE}"),
        ('tags:"a"freshness:due', f'tags:"a"{DUE}'),
        ("tags:[a TO b]freshness:due", f"tags:[a TO b]{DUE}"),
        ('tags:["]" TO *}freshness:due', f'tags:["]" TO *}}{DUE}'),
        ('tags:[a TO "b] freshness:due', f'tags:[a TO "b] {DUE}'),
        ("tags:/a\\/b/freshness:due", f"tags:/a\\/b/{DUE}"),
        ("/* a /* b */ */freshness:due", f"/* a /* b */ */{DUE}"),
        ("*:* freshness:due", f"*:* {DUE}"),
        # Groups.
        ("freshness:(due)", f"({DUE})"),
        ("freshness:(due OR overdue)", f"({DUE} OR {OVERDUE})"),
        ("freshness:( due || overdue )", f"({DUE} || {OVERDUE})"),
        ("freshness:(due overdue)", f"({DUE} {OVERDUE})"),
        ('freshness:("due" AND "overdue")', f"({DUE} AND {OVERDUE})"),
        ("freshness:((due) OR (overdue))", f"(({DUE}) OR ({OVERDUE}))"),
        ("freshness:(+due)", f"(+{DUE})"),
        ("-freshness:(due OR overdue)", f"-({DUE} OR {OVERDUE})"),
        # Solr finds nothing in a group of negations alone.
        ("freshness:(-due)", f"((*:* -{DUE}))"),
        ("freshness:(NOT due AND !overdue)", f"((*:* -{DUE}) AND (*:* -{OVERDUE}))"),
        ("freshness:(NOT(due))", f"((*:* -({DUE})))"),
    ],
)
def test_a_clause_about_the_status_is_about_dates(query: str, rewritten: str) -> None:
    assert rewrite(query, NOW) == rewritten


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "*:*",
        "due",
        "freshness",
        "freshness_due_date:[* TO NOW]",
        "freshness_undetermined:api",
        "my-freshness:due",
        "freshness-of:due",
        "a/freshness:due",
        "a!freshness:due",
        "a+freshness:due",
        "&&freshness:due",
        "freshness\\:due",
        'title:"freshness:due"',
        'title:"a \\" freshness:due"',
        "title:/freshness:due/",
        "title:[freshness:a TO freshness:b]",
        "name:x /* freshness:due */",
        "name:freshness",
        "{!field f=name}x",
        # What Solr refuses is left to Solr.
        'title:"freshness:due',
        "title:/freshness:due",
        "title:[freshness:due",
        "title:freshness:due",
        "/* freshness:due",
        "freshness\\",
    ],
)
def test_everything_else_is_left_to_the_letter(query: str) -> None:
    assert rewrite(query, NOW) == query


@pytest.mark.parametrize(
    "value",
    [
        *("*", "due*", "d?e", "[* TO *]", "[due TO overdue]", "{a TO b}", "/due/", "due~", "due~2"),
        *("due^2", "(due)^2", "(due overdue^2)", '"due"~2', "late", "Due", "due,overdue", "'due'"),
        *('""', "()", "(due", "(", "", " ", "-due", "+due", "NOT due", "OR", "(OR)", "(- due)"),
        *("(due -)", "(title:x)", "(due OR title:x)", "(due OR *)", "{!term}due", ":due", ")"),
        *("(--due)", "(due NOT)", "(" * 50 + "due" + ")" * 50, "due\\ ", "overdue\u0000"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(value: str) -> None:
    with pytest.raises(StatusQueryError) as refused:
        rewrite(f"name:x freshness:{value}", NOW)
    assert "freshness" in str(refused.value)
    assert "due" in str(refused.value)


@pytest.mark.parametrize(
    "query",
    [
        "{!term f=freshness}due",
        " {!lucene}freshness:due",
        "{!lucene df=freshness}due",
        "name:x {!terms f=freshness}due,overdue",
        'name:x {!lucene v="freshness:due"}',
    ],
)
def test_no_other_query_parser_gets_the_field(query: str) -> None:
    with pytest.raises(StatusQueryError):
        rewrite(query, NOW)


def test_deep_groups_end_in_words_not_in_a_stack() -> None:
    with pytest.raises(StatusQueryError):
        rewrite("freshness:" + "(" * 100_000, NOW)


def test_now_is_told_in_utc() -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=5)))
    assert clause(Status.DUE, elsewhere) == DUE


_PIECES = (
    *("freshness", "freshness:", "name:", ":", "(", ")", "[", "]", "{", "}", '"', "/", "\\", " "),
    *("due", "overdue", "AND", "OR", "NOT", "+", "-", "!", "^2", "~", "*", "?", "{!", "/*", "*/"),
    *("&&", "||", " TO ", "x", "\u3000", "freshness_due_date:"),
)
_QUERIES = st.one_of(st.lists(st.sampled_from(_PIECES), max_size=20).map("".join), st.text())


@given(_QUERIES)
def test_no_text_ends_in_another_error(query: str) -> None:
    try:
        rewrite(query, NOW)
    except StatusQueryError:
        assert "freshness" in query


@given(_QUERIES.map(lambda query: re.sub("f", "g", query)))
def test_who_does_not_name_the_field_gets_the_query_back(query: str) -> None:
    if "\\" not in query:
        assert rewrite(query, NOW) == query


_BEFORE = st.sampled_from(
    ["", "+name:x ", 'title:"a: b" ', "name:[a TO b] ", "(tags:x OR tags:y) -", "name:/x y/ AND "]
)


@given(_BEFORE, st.sampled_from(list(Status)), _BEFORE)
def test_a_clause_is_found_wherever_it_stands(before: str, status: Status, after: str) -> None:
    query = f"{before}freshness:{status.value} {after}name:z"
    expected = f"{before}{clause(status, NOW)} {after}name:z"
    assert rewrite(query, NOW) == expected
