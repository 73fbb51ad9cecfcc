"""Which copy has which key, what has become of those that there should be, and how names' changes follow.

A copy that is to have another key is kept there first, then its row says so, then the old bytes go: at
each moment the row names bytes that are its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from ...ckan_adapter import model
from ...copies import store_keys
from ...copies.store import Store, StoredCopy, StoreError
from ...runs.copies import shelf
from ...runs.copies.shelf import ShelvedCopy, TakenCopy
from .dataset_rows import KnownDataset
from .published_files import copies_prefix


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """Where the copy of a dataset belongs."""

    key: str
    dataset_name: str

    @property
    def filename(self) -> str:
        """Under which it is given out, and stands in its ZIP."""
        return store_keys.member(f"{self.dataset_name}.xml")


def places(known: Iterable[KnownDataset], source_id: str) -> dict[str, CopyPlace]:
    """Where the copy of each dataset of a source belongs, by resource.

    Named after organisation and dataset; if another copy is there, after the resource as well: nobody
    ever gets the place of another's copy.
    """
    found: dict[str, CopyPlace] = {}
    known = list(known)
    prefix = copies_prefix(source_id)
    taken = _taken(source_id, prefix)
    taken |= {one.key: one.resource_id for one in known if one.key is not None}
    for one in known:
        place = _place(one, prefix, one.dataset_name)
        if taken.get(place.key, one.resource_id) != one.resource_id:
            place = _place(one, prefix, f"{one.dataset_name} {one.resource_id}")
        taken[place.key] = one.resource_id
        found[one.resource_id] = place
    return found


def _taken(source_id: str, prefix: str) -> dict[str, str]:
    """What copies of others have, which are not known as the source's."""
    rows = model.Session.execute(sa.text(_OTHERS), {"source": source_id, "prefix": prefix})
    return {row.key: row.resource_id for row in rows}


def _place(one: KnownDataset, prefix: str, dataset: str) -> CopyPlace:
    key = prefix + store_keys.iati_key(one.organisation_name, dataset)
    return CopyPlace(key, one.dataset_name)


def there(store: Store, prefix: str, known: Iterable[KnownDataset]) -> dict[str, int]:
    """What the store has, of copies that belong there and of those that came from elsewhere: their bytes.

    :raises StoreError: the store is out of reach
    """
    found = dict(store.sizes(prefix))
    for one in known:
        for key in (one.key, one.zip_key):
            if key is not None and not key.startswith(prefix):
                size = store.size(key)
                if size is not None:
                    found[key] = size
    return found


def lost(known: Iterable[KnownDataset], there: Mapping[str, int]) -> Iterator[KnownDataset]:
    """The datasets whose last known good copy is not in the store, or not as it was kept.

    :param there: what the store has, and how many bytes of it
    """
    for one in known:
        if one.state.good is not None and (
            one.key is None
            or there.get(one.key) != one.size
            or (one.zip_key or one.key) not in there
        ):
            yield one


def move(
    store: Store,
    known: Iterable[KnownDataset],
    places: Mapping[str, CopyPlace],
    there: Collection[str],
) -> Iterator[tuple[KnownDataset, StoreError | None]]:
    """Bring copies to where they belong by now, and make ZIPs anew that were lost.

    :param there: the keys that the store has
    :returns: each that was not as it should be, and why it is not yet
    """
    for one in known:
        place = places[one.resource_id]
        if one.key is None or one.key not in there:
            continue
        if one.key == place.key and (one.zip_key is None or one.zip_key in there):
            continue
        try:
            kept = _again(store, one, place)
            shelf.move(one.resource_id, kept, place.filename)
            if kept.key != one.key:
                old = tuple(filter(None, (one.key, one.zip_key)))
                shelf.throw_away(store, [TakenCopy(one.resource_id, old)])
        except StoreError as error:
            yield one, error
        else:
            yield one, None


def _again(store: Store, one: KnownDataset, place: CopyPlace) -> StoredCopy:
    """Keep the bytes of a copy in another place, where its ZIP has another name in it."""
    assert one.key is not None
    with store.stage() as staged:
        reader = store.open(one.key)
        try:
            for piece in reader:
                staged.write(piece)
        finally:
            reader.close()
        if staged.sha256 != one.sha256:
            raise StoreError(f"The copy {one.key} is not what was kept there: it was not moved.")
        return store.keep(place.key, staged, zip_member=place.filename)


def shelved(
    one: KnownDataset, place: CopyPlace, kept: StoredCopy, source_url: str, at: datetime
) -> ShelvedCopy:
    """The row of a copy that was stored now."""
    return ShelvedCopy(
        resource_id=one.resource_id,
        package_id=one.package_id,
        kept=kept,
        filename=place.filename,
        mimetype="application/xml",
        source_url=source_url,
        at=at,
    )


_OTHERS = """
SELECT c.key, c.resource_id FROM freshness_copy c WHERE starts_with(c.key, :prefix) AND NOT EXISTS (
    SELECT FROM freshness_iati i WHERE i.resource_id = c.resource_id AND i.source_id = :source
)"""
