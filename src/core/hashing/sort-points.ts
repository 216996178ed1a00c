/**
 * The order of 64-bit points (two uint32 halves) as indices, ascending and stable.
 *
 * A radix sort, one byte a pass: a comparison sort of the 300,000 points of 3,000 nodes takes ten times as long, and
 * stability is what keeps nodes that share a point in their order of adding.
 */
export function sortPoints(hi: Uint32Array, lo: Uint32Array): Uint32Array {
  const size = hi.length;
  let order = Uint32Array.from({ length: size }, (_, i) => i);
  let next = new Uint32Array(size);
  for (const half of [lo, hi]) {
    for (let shift = 0; shift < 32; shift += 8) {
      const starts = new Uint32Array(257);
      for (let i = 0; i < size; i++) {
        const slot = (((half[i] ?? 0) >>> shift) & 0xff) + 1;
        starts[slot] = (starts[slot] ?? 0) + 1;
      }
      if (starts.includes(size, 1)) continue;
      for (let byte = 1; byte < 257; byte++) starts[byte] = (starts[byte] ?? 0) + (starts[byte - 1] ?? 0);
      for (const index of order) {
        const byte = ((half[index] ?? 0) >>> shift) & 0xff;
        const at = starts[byte] ?? 0;
        next[at] = index;
        starts[byte] = at + 1;
      }
      [order, next] = [next, order];
    }
  }
  return order;
}
