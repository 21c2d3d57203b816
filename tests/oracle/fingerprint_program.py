"""Shows tensors of every dtype, size and layout to the dispatcher, and writes down the memory that
they read. Run by test_fingerprint.py under capture, as a program of its own."""
import ctypes
import json
import random
import sys

import torch
from fingerprint_collisions import hidden_exchange, with_partner

SIZES = [0, 1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 4097]

# Bit patterns by the bytes of a part: zeros, denormals, infinities, quiet and signalling NaNs,
# largest numbers, ones.
PATTERNS = {
    1: [0x00, 0x01, 0x02, 0x7E, 0x7F, 0x80, 0xFE, 0xFF],
    2: [0x0000, 0x8000, 0x0001, 0x8001, 0x7C00, 0xFC00, 0x7C01, 0x7E00, 0x7BFF, 0x3C00, 0x7F80,
        0xFF80, 0x7F81, 0xFFC0, 0x7F7F, 0x3F80, 0xFFFF],
    4: [0, 1 << 31, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC00000, 0x7F7FFFFF,
        0x3F800000, 0x7FFFFFFF, 0xFFFFFFFF],
    8: [0, 1 << 63, 1, 1 << 63 | 1, 0x7FF << 52, 0xFFF << 52, 0x7FF << 52 | 1, 0xFFF8 << 48,
        (0x7FF << 52) - 1, 0x3FF << 52, (1 << 63) - 1, (1 << 64) - 1, (1 << 53) + 1],
}


def part_of(dtype):
    """Bytes of a number: of each part of a complex one."""
    return dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize


def content(count, part, kind):
    """`count` parts. The same for every dtype of that size, so that the oracle computes it once."""
    source = random.Random("%d %d %s" % (count, part, kind))
    bits = 8 * part
    parts = []
    for _ in range(count):
        value = source.getrandbits(bits)
        if kind == "mixed" and source.random() < 0.3:
            value = source.choice(PATTERNS[part])
        elif kind == "finite":  # as a float: of magnitude below 2
            value &= ~(1 << (bits - 2))
        elif kind == "zeros":
            value = (value & 1) << (bits - 1)
        elif kind == "nans":
            value = (1 << bits) - 1
        parts.append(value.to_bytes(part, "little"))
    return b"".join(parts)


def layouts(item):
    """(content kind, sizes, strides, offset) of every case."""
    for n in SIZES:
        yield "mixed", [n], [1], 0
        yield "finite", [n], [1], 1
        yield "finite", [n], [3], 2  # sliced
    for n in (1, 2, 65, 129):
        yield "nans", [n], [1], 0
        yield "zeros", [n], [1], 0
        yield "finite", [n, 3], [1, n], 0  # transposed
        yield "mixed", [3, n], [0, 1], 0  # expanded
        yield "finite", [n, 2], [1, 0], 1
        yield "finite", [n, 4], [1, 1], 0  # overlapping windows
        yield "finite", [1, n, 1], [7, 1, 5], 0
    yield "finite", [4097, 2], [2, 1], 0
    yield "finite", [2, 1000], [1, 2], 0
    yield "mixed", [2, 5, 3, 4], [60, 1, 20, 5], 0  # channels last
    yield "mixed", [2, 7, 3, 5], [500, 3, 160, 31], 4
    columns = 2048 // item  # whole blocks, transposed
    yield "finite", [16, 2 * columns], [1, 16], 0
    yield "mixed", [2, 32, columns], [32 * columns, 1, 32], 0
    yield "mixed", [], [], 0
    yield "finite", [], [], 5
    for empty in ([0], [0, 3], [3, 0], [2, 0, 4]):
        yield "mixed", empty, [0] * len(empty), 0


def make(dtype, count, data):
    if str(dtype).startswith(("torch.q", "torch.quint")):
        base = torch._empty_affine_quantized([count], scale=0.5, zero_point=0, dtype=dtype)
    else:
        base = torch.empty(count, dtype=dtype)
    room = base.untyped_storage().nbytes()
    ctypes.memmove(base.untyped_storage().data_ptr(), data, min(room, len(data)))
    return base


def memory(tensor):
    storage = tensor.untyped_storage()
    return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""


def probe(tensor):
    """Reads any dtype and layout, and changes nothing: as an input, then as a written argument."""
    torch.ops.aten.alias(tensor)
    torch.ops.aten.copy_(tensor, tensor)


def extent(sizes, strides, offset):
    if 0 in sizes:
        return offset
    return offset + 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))


class Recorder:
    def __init__(self, folder):
        self.cases, self.memories, self.folder = [], {}, folder

    def show(self, tensor, **facts):
        probe(tensor)
        data = memory(tensor)
        self.cases.append(dict(
            facts, dtype=str(tensor.dtype)[6:], item=tensor.itemsize, sizes=list(tensor.shape),
            strides=list(tensor.stride()), offset=tensor.storage_offset(),
            memory=self.memories.setdefault(data, len(self.memories))))

    def write(self):
        with open(self.folder + "/memories.json", "w", encoding="ascii") as file:
            json.dump([data.hex() for data in self.memories], file)
        with open(self.folder + "/cases.json", "w", encoding="ascii") as file:
            json.dump(self.cases, file)


def main(folder):
    recorder = Recorder(folder)
    names = sorted({str(value)[6:] for value in vars(torch).values()
                    if isinstance(value, torch.dtype)})
    for name in names:
        dtype = getattr(torch, name)
        part = part_of(dtype)
        for kind, sizes, strides, offset in layouts(dtype.itemsize):
            quantised = name.startswith("q")
            if quantised and (len(sizes) != 1 or strides != [1] or offset):
                continue  # torch has no strides for them
            count = extent(sizes, strides, offset)
            data = content(count * dtype.itemsize // part, part, kind)
            base = make(dtype, count, data)
            recorder.show(base if quantised else base.as_strided(sizes, strides, offset))
    for name in ("complex64", "complex128"):
        dtype = getattr(torch, name)
        base = make(dtype, 65, content(130, part_of(dtype), "finite"))
        recorder.show(base.conj(), layout="strided conj")
        recorder.show(base.conj().imag, layout="strided neg")
    for name, made, dtype in (("hidden exchange", hidden_exchange(), torch.float32),
                              ("with partner", with_partner(), torch.float32)):
        for data in made:
            count = len(data) // dtype.itemsize
            recorder.show(make(dtype, count, data), collision=name)
    values = [make(torch.float32, n, content(n, 4, "mixed")) for n in (1, 65, 1000)]
    torch._foreach_copy_(values, values)
    recorder.write()


if __name__ == "__main__":
    main(sys.argv[1])
