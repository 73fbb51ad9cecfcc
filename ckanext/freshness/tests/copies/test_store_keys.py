"""Keys of names: ordinary names stay, no key leads out of the store, and no two names share a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.copies import store_keys

ANY = st.text(st.characters(), max_size=320) | st.sampled_from(
    [
        "",
        ".",
        "..",
        "/",
        "a/b",
        "a\\b",
        "con",
        "CON",
        "nul.xml",
        "a\0b",
        "\ud800",
        "x" * 300,
        "ä",
        "ä",
    ]
)


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("", "x"),
        ("..", "x"),
        ("../../etc/passwd", "etc-passwd"),
        ("a\0b", "a-b"),
        ("AidAgency", "aidagency"),
        ("ministère", "ministere"),
        ("con", "con"),
        ("y" * 101, "y" * 60),
        ("\ud800", "x"),
    ],
)
def test_other_names_are_spelled_and_marked(name: str, stem: str) -> None:
    part = store_keys.segment(name)
    assert part.rpartition("~")[0] == stem
    assert len(part.rpartition("~")[2]) == 32
    assert store_keys.check(store_keys.registry_key(name, name))


@given(ANY)
def test_every_name_gives_a_key(name: str) -> None:
    for key in (store_keys.registry_key(name, name), store_keys.resource_key(name)):
        assert store_keys.check(key) == key
        assert store_keys.check(store_keys.zip_key(key)) == store_keys.zip_key(key)
        assert key == key.lower()


@given(st.sets(ANY, min_size=2, max_size=8))
def test_no_two_names_have_one_key(different: set[str]) -> None:
    assert len({store_keys.segment(name) for name in different}) == len(different)
    keys = {store_keys.registry_key(name, "x") for name in different}
    keys |= {store_keys.registry_key("x", name) for name in different if name != "x"}
    keys |= {store_keys.resource_key(name) for name in different}
    zips = {store_keys.zip_key(key) for key in keys}
    assert len(zips) == len(keys)
    assert not zips & keys


@given(ANY)
def test_what_a_key_is_made_of_is_never_changed_again(name: str) -> None:
    """Else one name could be another's key."""
    part = store_keys.segment(name)
    assert part == name or store_keys.segment(part) != part


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("data.csv", "data.csv"),
        ("Données 2024.csv", "Données 2024.csv"),
        ("../../etc/passwd", "_._etc_passwd"),
        ("C:\\x.csv", "C_x.csv"),
        ("exe.\u202evsc.csv", "exe._vsc.csv"),
        ("con.csv", "_con.csv"),
        ("", "data"),
        ("x" * 300 + ".csv", "x" * 146 + ".csv"),
    ],
)
def test_a_file_in_a_zip_unpacks_where_it_should(filename: str, expected: str) -> None:
    assert store_keys.member(filename) == expected
