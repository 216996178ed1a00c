/** go-zero's value for a load of 0, reached at -1 in flight only. */
const penalty = 2 ** 31 - 1;
/** No answer over a network takes less than 10 µs: a root below this stands for an instance that has not answered yet. */
const leastRoot = 100;
const mostInFlight = 64;
const mostReadings = 8;

/** Latency at so many calls in flight. */
export interface Reading {
  readonly inFlight: number;
  readonly ewmaMs: number;
}

/**
 * What a load can stand for, fewest in flight first: load = trunc(sqrt(lag + 1)) * (in flight + 1), lag in ns, so in flight
 * + 1 divides it. Empty when there was no answer yet.
 * Source: go-zero v1.10.3, zrpc/internal/balancer/p2c/p2c.go
 */
export function readingsOf(load: number): readonly Reading[] {
  const readings: Reading[] = [];
  if (load === penalty) return readings;
  for (let factor = 1; factor <= mostInFlight + 1 && readings.length < mostReadings; factor++) {
    if (load / factor < leastRoot) break;
    if (load % factor === 0) readings.push({ inFlight: factor - 1, ewmaMs: ewmaMsOf(load, factor - 1) });
  }
  return readings;
}

/** Moving average of the latency, ms, when so many calls are in flight. */
export function ewmaMsOf(load: number, inFlight: number): number {
  return (load / (inFlight + 1)) ** 2 / 1e6;
}

/** Null: it has not answered yet. */
export function ewmaBoundMs(load: number): number | null {
  return load === penalty || load < leastRoot ? null : ewmaMsOf(load, 0);
}

/** What the load of an instance is with none in flight, at least and at most. */
export interface LoadRange {
  readonly lowest: number;
  readonly highest: number;
}

/** More are in flight at the moment of a line than this: rarely, and not in each. */
const commonInFlight = 3;
/** From line to line a moving average moves by less than this factor. */
const steady = 1.5;
export const linesOfRange = 3;

/**
 * Of the loads in consecutive lines, each made by its own number of calls in flight. A single line tells nothing: half of all
 * loads can be halved. Null with fewer than two, and before the first answer.
 */
export function loadRange(loads: readonly number[]): LoadRange | null {
  if (loads.length < 2 || loads.some((load) => ewmaBoundMs(load) === null)) return null;
  const lines = loads.map((load) =>
    Array.from({ length: commonInFlight + 1 }, (_, inFlight) => load / (inFlight + 1)).filter(
      (root) => Number.isInteger(root) && root >= leastRoot,
    ),
  );
  const roots = lines.flat().sort((a, b) => a - b);
  const isSteady = (root: number) => lines.every((line) => line.some((one) => one >= root && one <= root * steady));
  const lowest = roots.find(isSteady) ?? roots[0];
  return lowest === undefined ? null : { lowest, highest: Math.max(...loads) };
}

/** Known as long as there was no answer: the load is then in flight + 1. */
export function inFlightOf(load: number): number | null {
  return load > 0 && load < leastRoot ? load - 1 : null;
}
