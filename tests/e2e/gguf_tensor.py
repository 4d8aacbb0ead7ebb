"""One tensor of a GGUF file as float32 rows: an independent reader of the few things that judging a real model takes
(version 3, little-endian, one file; F32, F16 and Q8_0)."""
import math
import pathlib
import struct
from typing import BinaryIO

import numpy

STRING, ARRAY = 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
F32, F16, Q8_0 = 0, 1, 8


class Header:
    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def number(self, form: str) -> int:
        return struct.unpack("<" + form, self.stream.read(struct.calcsize("<" + form)))[0]

    def text(self) -> str:
        return self.stream.read(self.number("Q")).decode("utf-8", "replace")

    def value(self, kind: int) -> int | None:
        """Passes over a value; gives the unsigned integers, which is all that is asked here."""
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            element, count = self.number("I"), self.number("Q")
            if element in SIZES:
                self.stream.seek(SIZES[element] * count, 1)
            else:
                for _ in range(count):
                    self.value(element)
        elif kind == 4:
            return self.number("I")
        else:
            self.stream.seek(SIZES[kind], 1)
        return None


def read_tensor(path: pathlib.Path, wanted: str) -> numpy.ndarray:
    with path.open("rb") as stream:
        header = Header(stream)
        magic, version = stream.read(4), header.number("I")
        assert (magic, version) == (b"GGUF", 3), f"{path}: {magic!r} {version}"
        n_tensors, n_keys = header.number("Q"), header.number("Q")
        alignment = 32
        for _ in range(n_keys):
            key, value = header.text(), header.value(header.number("I"))
            if key == "general.alignment":
                alignment = value
        found = None
        for _ in range(n_tensors):
            name = header.text()
            shape = [header.number("Q") for _ in range(header.number("I"))]
            kind, offset = header.number("I"), header.number("Q")
            if name == wanted:
                found = shape[::-1], kind, offset
        assert found, f"{path} has no {wanted}"
        data = -(-stream.tell() // alignment) * alignment
    shape, kind, offset = found
    n = math.prod(shape)
    if kind == Q8_0:  # [ d:f16 | q:32 x i8 ]
        blocks = numpy.fromfile(path, numpy.dtype([("d", "<f2"), ("q", "i1", 32)]), n // 32, offset=data + offset)
        return (blocks["d"].astype(numpy.float32)[:, None] * blocks["q"]).reshape(shape)
    assert kind in (F32, F16), f"{wanted} is of type {kind}"
    return numpy.fromfile(path, {F32: "<f4", F16: "<f2"}[kind], n, offset=data + offset).astype(numpy.float32).reshape(shape)
