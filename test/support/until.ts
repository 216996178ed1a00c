/** Resolves when `test` holds, with the milliseconds that took; fails with what it last saw. */
export async function until(test: () => unknown, withinMs: number, what = 'the condition'): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    let last: unknown;
    try {
      if (await test()) return performance.now() - startedAt;
    } catch (error) {
      last = error;
    }
    if (performance.now() - startedAt > withinMs) {
      throw new Error(`${what} did not hold within ${withinMs} ms`, { cause: last });
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
