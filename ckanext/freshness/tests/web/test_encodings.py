"""Compressed bodies, and truncated ones."""

from __future__ import annotations

import contextlib
import gzip
import random
import time
import zlib
from collections.abc import Callable

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.room import Room
from ckanext.freshness.web import encodings
from ckanext.freshness.web.encodings import Decoder
from ckanext.freshness.web.errors import FailureReason, Fault, Meaning

TABLE = b"".join(b"%d,%d\n" % (n, n * n) for n in range(2_000))


def bare(data: bytes) -> bytes:
    """Deflate without the zlib header, as some servers do."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


FORMS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "bare deflate": ("deflate", bare),
    "br": ("br", brotli.compress),
    "one after the other": ("gzip, gzip", lambda data: gzip.compress(gzip.compress(data))),
    "of two kinds": ("br, gzip", lambda data: gzip.compress(brotli.compress(data))),
    "of storage servers": ("gzip,aws-chunked", gzip.compress),
}


PACKED = {form: pack(TABLE) for form, (_, pack) in FORMS.items()}


def decoded(encoding: str, packed: bytes, size: int) -> bytes:
    decoder = Decoder(encoding)
    chunks = [packed[at : at + size] for at in range(0, len(packed), size)]
    found = b"".join(part for chunk in chunks for part in decoder.chunks(chunk))
    decoder.end()
    return found


@pytest.mark.parametrize("form", FORMS)
@given(data=st.binary(max_size=5_000), size=st.integers(1, 6_000))
def test_there_and_back(form: str, data: bytes, size: int) -> None:
    encoding, pack = FORMS[form]
    assert decoded(encoding, pack(data), size) == data


@pytest.mark.parametrize("form", FORMS)
@given(share=st.floats(0, 1, exclude_max=True), size=st.integers(1, 6_000))
def test_what_is_cut_off_is_never_whole(form: str, share: float, size: int) -> None:
    encoding, packed = FORMS[form][0], PACKED[form]
    # Behind the data, gzip and zlib have a checksum.
    with pytest.raises(Fault) as raised:
        decoded(encoding, packed[: max(1, int((len(packed) - 9) * share))], size)
    assert raised.value.reason is FailureReason.DAMAGED


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        pytest.param(-6, FailureReason.DAMAGED, id="in the checksum"),
        pytest.param(-2, FailureReason.DAMAGED, id="in the size"),
        pytest.param(10, FailureReason.MALFORMED, id="in the data"),
    ],
)
def test_a_damaged_stream(at: int, reason: FailureReason) -> None:
    packed = bytearray(gzip.compress(random.Random(1).randbytes(10_000)))
    packed[at] ^= 6
    with pytest.raises(Fault) as raised:
        decoded("gzip", bytes(packed), 1_000)
    assert raised.value.reason is reason


@pytest.mark.parametrize("form", FORMS)
def test_a_bomb_comes_in_pieces(form: str) -> None:
    encoding, pack = FORMS[form]
    packed = pack(bytes(8 << 20))
    sizes = [len(part) for part in Decoder(encoding).chunks(packed)]
    assert sum(sizes) == 8 << 20 and max(sizes) <= 1 << 20


def test_many_members_cost_little_time() -> None:
    begin = time.process_time()
    assert decoded("gzip", gzip.compress(b"") * 10_000, 1 << 16) == b""
    assert time.process_time() - begin < 10


def begun(size: int) -> Decoder:
    """Return a decoder in the middle of a body of brotli that looks back as far as it can."""
    decoder = Decoder("br")
    packer = brotli.Compressor(lgwin=24)
    for _ in decoder.chunks(packer.process(bytes(size)) + packer.flush()):
        pass
    return decoder


def test_bodies_of_brotli_share_the_memory_to_look_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "MEMORY", Room(40 << 20))
    large, small = 4 << 20, 1 << 18
    held = [begun(large), begun(large)]
    held += [begun(small) for _ in range(9)]
    with pytest.raises(Fault) as raised:
        begun(large)
    assert raised.value.reason is FailureReason.NO_ROOM
    assert raised.value.reason.meaning is Meaning.OURS and raised.value.reason.retriable
    del held[0], raised
    begun(large)


def test_a_body_that_is_compressed_too_often() -> None:
    with pytest.raises(Fault, match="compressed 3 times") as raised:
        Decoder("gzip, br, gzip")
    assert raised.value.reason is FailureReason.MALFORMED


@pytest.mark.parametrize("level", [0, 1, 6, 9])
@pytest.mark.parametrize("data", [b"id,name\n", bytes(500), random.Random(2).randbytes(500)])
def test_only_the_trailer_of_gzip_may_be_missing(level: int, data: bytes) -> None:
    packed = gzip.compress(data, level)
    for size in range(1, len(packed)):
        if size < len(packed) - 8:
            with pytest.raises(Fault):
                decoded("gzip", packed[:size], size)
        else:
            assert decoded("gzip", packed[:size], size) == data


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
@given(data=st.binary(min_size=1, max_size=300), size=st.integers(1, 300))
def test_any_bytes_give_data_or_a_fault(encoding: str, data: bytes, size: int) -> None:
    with contextlib.suppress(Fault):
        decoded(encoding, data, size)
