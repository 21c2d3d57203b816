"""Pairs of contents that collide, made by hand from docs/fingerprint.md, "Collisions"."""
import struct

from fingerprint_reference import KEY, M32, ODD, SQUARE, WHITE


def hidden_exchange():
    """32 float32: elements 0 and 16, which differ in one bit, exchanged. Both digests are equal."""
    first, second = KEY[0], KEY[1]  # of lane 0 in stripes 0 and 1
    # The products swap if both words have the same keyed high half, and both keys the same bit.
    bit = next(1 << i for i in range(23) if not (first ^ second) >> i & 1)
    x = 0x3F800000  # 1.0
    high = 0x3F000000
    elements = [0] * 32
    elements[0], elements[16] = x, x | bit
    elements[1], elements[17] = high, high ^ (first >> 32) ^ (second >> 32)
    one = struct.pack("<32I", *elements)
    elements[0], elements[16] = elements[16], elements[0]
    return one, struct.pack("<32I", *elements)


def with_partner():
    """8 float32, of which one is replaced by its partner. The unordered digests are equal."""
    x = 0x3F800000
    scrambled = (x ^ WHITE) * ODD & M32
    scrambled ^= scrambled >> 15
    other = scrambled ^ SQUARE
    other ^= other >> 15 ^ other >> 30  # undoes y ^ y >> 15
    partner = (other * pow(ODD, -1, 1 << 32) & M32) ^ WHITE
    rest = (0x40000000, 0x40400000, 1, 2, 3, 4, 5)
    return struct.pack("<8I", x, *rest), struct.pack("<8I", partner, *rest)
