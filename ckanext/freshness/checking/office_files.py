"""Reads Office files: archives of parts that refer to one another.

The standard library's expat reads the XML. Document types are refused: Office writes none, and without them
there are no entities, neither nested nor external.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from .detectors import MIB, PIECE, ContainerLimits, Unreadable


@dataclass(frozen=True, slots=True)
class Relation:
    """A reference from one part to another."""

    id: str
    target: str


@dataclass(slots=True)
class OfficeParts:
    """The parts of an Office file, by name in lower case, read within the limits."""

    archive: zipfile.ZipFile
    limits: ContainerLimits
    inflated: int = 0
    members: dict[str, zipfile.ZipInfo] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for member in self.archive.infolist():
            self.members[_part_name(member.filename)] = member

    def related(self, part: str, kind: str) -> list[Relation]:
        """Return the parts that a part refers to as ``kind``. The part ``""`` is the whole file."""
        found: list[Relation] = []
        folder, name = posixpath.split(part)

        def start(tag: str, attributes: dict[str, str]) -> None:
            if (
                local_name(tag) == "Relationship"
                and attributes.get("Type", "").rpartition("/")[2] == kind
                and attributes.get("TargetMode") != "External"
            ):
                target = posixpath.join("/" + folder, attributes.get("Target", ""))
                found.append(Relation(attributes.get("Id", ""), _part_name(target)))

        relations = posixpath.join(folder, "_rels", f"{name}.rels")
        if relations in self.members:
            self.parse(relations, start)
        return found

    def parse(
        self,
        part: str,
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] | None = None,
        data: Callable[[str], None] | None = None,
    ) -> None:
        """Parse a part as XML.

        :raises Unreadable: the part is missing, encrypted or beyond the limits
        """
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = PIECE
        parser.StartDoctypeDeclHandler = _refuse
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = data
        fed = 0
        for piece in self._pieces(part):
            parser.Parse(piece, False)
            fed += len(piece)
            # Old versions of expat parse an unfinished tag again with each piece.
            if fed - parser.CurrentByteIndex > self.limits.max_token:
                raise Unreadable(f"a tag of more than {self.limits.max_token} bytes in {part!r}")
        parser.Parse(b"", True)

    def _pieces(self, part: str) -> Iterator[bytes]:
        member = self.members.get(part)
        if member is None:
            raise Unreadable(f"broken: there is no {part!r}")
        if member.flag_bits & 1:
            raise Unreadable("the workbook is encrypted")
        # Python inflates other methods without a bound, and Office does not read them.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unreadable(f"broken: compression {member.compress_type} in a workbook")
        if member.file_size > max(MIB, self.limits.max_ratio * member.compress_size):
            raise Unreadable(f"{part!r} inflates more than {self.limits.max_ratio} times")
        with self.archive.open(member) as file:
            while piece := file.read(PIECE):
                self.inflated += len(piece)
                if self.inflated > self.limits.max_inflated:
                    raise Unreadable(f"more than {self.limits.max_inflated} bytes when inflated")
                yield piece


def _part_name(name: str) -> str:
    """Return a part's name for comparison: Office ignores case, and some writers use backslashes."""
    return posixpath.normpath("/" + name.replace("\\", "/")).lstrip("/").lower()


def local_name(tag: str) -> str:
    """Return a tag without its prefix: writers choose prefixes, and strict files use other namespaces."""
    return tag[tag.find(":") + 1 :]


def _refuse(*_: object) -> None:
    raise Unreadable("a document type in a workbook")
