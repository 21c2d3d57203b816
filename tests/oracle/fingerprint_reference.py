"""Fingerprint, unordered digest and statistics of a tensor's bytes as docs/fingerprint.md defines
them, in plain integers. Slow; shares no code with the capture library."""
from collections import namedtuple

import numpy

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
BLOCK, STRIPE, WORD = 2048, 64, 8
LANES = range(8)

Statistics = namedtuple("Statistics", "nans infs zeros minimum maximum")


def splitmix(counter):
    z = counter * 0x9E3779B97F4A7C15 & M64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & M64
    return z ^ z >> 31


KEY = [splitmix(1 + i) for i in range(32 + 7)]
START = [splitmix(101 + i) for i in LANES]
MERGE = [splitmix(201 + i) for i in LANES]
BLOCK_STEP, BYTES_STEP, ITEM_STEP = (splitmix(i) | 1 for i in (301, 302, 303))
WHITE, ODD, SQUARE = splitmix(401) & M32, splitmix(402) & M32 | 1, splitmix(403) & M32
WHITE_HIGH, ODD_HIGH = splitmix(404) & M32, splitmix(405) & M32 | 1
PAIR = splitmix(406) | 1


def avalanche(h):
    h = (h ^ h >> 32) * 0x0E9846AF9B1A615D & M64
    h = (h ^ h >> 32) * 0x0E9846AF9B1A615D & M64
    return h ^ h >> 28


def fold(a, b):
    product = a * b
    return product & M64 ^ product >> 64


def finish(total, length, item):
    return avalanche(total + length * BYTES_STEP + item * ITEM_STEP & M64)


def block_value(block, number):
    padded = block + bytes(-len(block) % STRIPE)
    words = [int.from_bytes(padded[i:i + WORD], "little") for i in range(0, len(padded), WORD)]
    lanes = list(START)
    for i, word in enumerate(words):
        stripe, lane = divmod(i, 8)
        keyed = word ^ KEY[stripe + lane]
        lanes[lane] += (keyed & M32) * (keyed >> 32)
        lanes[lane ^ 1] += word
    mixed = [(total ^ key) & M64 for total, key in zip(lanes, MERGE)]
    pairs = sum(fold(mixed[i], mixed[i + 1]) for i in (0, 2, 4, 6))
    return avalanche(pairs + (number + 1) * BLOCK_STEP & M64)


def fingerprint(data, item):
    blocks = [data[i:i + BLOCK] for i in range(0, len(data), BLOCK)]
    total = sum(block_value(block, number) for number, block in enumerate(blocks))
    return finish(total, len(data), item)


def _scramble(half, white, odd):
    x = (half ^ white) * odd & M32
    return x ^ x >> 15


def share_of_32(element):
    x = _scramble(element, WHITE, ODD)
    return x * (x ^ SQUARE)


def share_of_64(element):
    low = _scramble(element & M32, WHITE, ODD)
    high = _scramble(element >> 32, WHITE_HIGH, ODD_HIGH)
    return (low + high & M32) * (low ^ high ^ SQUARE) + low + (high << 32) & M64


def share(element, item):
    if item <= 4:
        return share_of_32(element)
    if item == 8:
        return share_of_64(element)
    return avalanche(share_of_64(element & M64) + share_of_64(element >> 64) * PAIR & M64)


def unordered(data, item):
    elements = (int.from_bytes(data[i:i + item], "little") for i in range(0, len(data), item))
    return finish(sum(share(element, item) for element in elements), len(data), item)


def _bfloat16(data):
    return (numpy.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")


def _complex32(data):
    return numpy.frombuffer(data, "<f2").astype("<f4").view("<c8")


READ = {"bfloat16": _bfloat16, "complex32": _complex32}
READ.update((name, lambda data, code=code: numpy.frombuffer(data, code)) for name, code in (
    ("bool", "u1"), ("uint8", "u1"), ("int8", "i1"), ("int16", "<i2"), ("uint16", "<u2"),
    ("int32", "<i4"), ("uint32", "<u4"), ("int64", "<i8"), ("uint64", "<u8"),
    ("float16", "<f2"), ("float32", "<f4"), ("float64", "<f8"),
    ("complex64", "<c8"), ("complex128", "<c16")))


def statistics(data, dtype):
    """None for a dtype without statistics. The sign of a zero extreme is not kept."""
    if dtype not in READ:
        return None
    values = READ[dtype](data)
    nans = numpy.isnan(values)
    with numpy.errstate(invalid="ignore"):  # signalling NaNs
        zeros = values == 0
    low = high = None
    if values.dtype.kind != "c" and not nans.all():
        # Through Python's numbers: exact integers, then one rounding to double.
        numbers = values[~nans].tolist()
        low, high = float(min(numbers)) + 0.0, float(max(numbers)) + 0.0
    return Statistics(int(nans.sum()), int((numpy.isinf(values) & ~nans).sum()),
                      int(zeros.sum()), low, high)
