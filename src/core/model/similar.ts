const atMost = 3;

/** The candidates that a person may have meant, closest first: a part of the name, or few typing errors apart. */
export function similarNames(wanted: string, candidates: Iterable<string>): string[] {
  const target = wanted.toLowerCase();
  const scored: Array<{ name: string; score: number }> = [];
  for (const name of new Set(candidates)) {
    const text = name.toLowerCase();
    const limit = Math.max(1, Math.floor(target.length / 3));
    const isPart = target.length >= 2 && (text.includes(target) || (text.length >= 2 && target.includes(text)));
    // A part beats any typing error, a beginning beats any other part.
    const score = isPart ? (text.startsWith(target) ? 0 : 0.5) : distance(target, text, limit);
    if (isPart || score <= limit) scored.push({ name, score });
  }
  scored.sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1));
  return scored.slice(0, atMost).map((entry) => entry.name);
}

/** Edits between two texts where swapping neighbours is one edit (optimal string alignment); above `limit`: Infinity. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      current.push(best);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
