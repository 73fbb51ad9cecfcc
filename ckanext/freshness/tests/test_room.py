"""The room that all answers of a process share."""

from __future__ import annotations

from ckanext.freshness.room import Room, Share


def test_a_share_is_limited_by_the_others_and_given_back() -> None:
    room = Room(100)
    one, other = Share(room), Share(room)
    assert one.take(60) and not other.take(41) and other.take(40)
    one.give_back()
    one.give_back()
    assert other.take(60) and not one.take(1)


def test_a_share_that_nothing_refers_to_is_given_back() -> None:
    room = Room(100)
    Share(room).take(100)
    assert Share(room).take(100)
