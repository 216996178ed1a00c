/** An unsigned 64-bit value as two uint32: BigInt costs ten times as much where every call is hashed. */
export interface Hash64 {
  readonly hi: number;
  readonly lo: number;
}

/** `value mod n`, for 1 <= n <= 2^20 (no intermediate leaves the exact range of a double). */
export function modulo({ hi, lo }: Hash64, n: number): number {
  return ((hi % n) * (0x100000000 % n) + lo) % n;
}

/** Lower-case hex of the low `digits` digits (8 for a 32-bit hash, 16 for a 64-bit one). */
export function toHex({ hi, lo }: Hash64, digits: 8 | 16): string {
  const low = lo.toString(16).padStart(8, '0');
  return digits === 8 ? low : hi.toString(16).padStart(8, '0') + low;
}
