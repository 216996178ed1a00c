import { type ClientFigures, type InstanceFigures, type WindowFigures, windowsSeconds } from '../../stats/figures.js';

/** What the probing channel's balancer tells of one instance. */
export interface Inspected {
  readonly address: string;
  readonly picks: number;
  readonly inFlight: number;
  readonly latencyMs: number | null;
  readonly success: number | null;
  readonly load: number | null;
  readonly circuit?: InstanceFigures['circuit'];
}

interface Ended {
  readonly atMs: number;
  readonly latencyMs: number;
  isError: boolean;
}

interface Counted {
  readonly sinceMs: number;
  /** Of the last minute: a probe makes few. */
  readonly ended: Ended[];
  readonly started: { readonly atMs: number; readonly picks: number }[];
  readonly codes: Record<string, number>;
}

const longestMs = 60_000;
const latencyWindowMs = 10_000;
/** Upper bounds of latencies rise by a tenth. */
const step = Math.log(1.1);

/** Counts the calls of the probe, which are few, one by one. */
export class ProbeCounters {
  readonly #byAddress = new Map<string, Counted>();

  ended(address: string, code: string, isError: boolean, latencyMs: number, nowMs: number): void {
    const counted = this.#of(address, nowMs);
    counted.codes[code] = (counted.codes[code] ?? 0) + 1;
    counted.ended.push({ atMs: nowMs, latencyMs, isError });
    forget(counted.ended, nowMs);
  }

  /** The call that ended there last was OK only to gRPC: its answer was `verdict` (NOT_SERVING). */
  wrong(address: string, verdict: string): void {
    const counted = this.#byAddress.get(address);
    const last = counted?.ended.at(-1);
    if (!counted || !last) return;
    last.isError = true;
    counted.codes[verdict] = (counted.codes[verdict] ?? 0) + 1;
  }

  /** The list of the channel as it is now; instances that have left are forgotten. */
  figures(inspected: readonly Inspected[], nowMs: number): ClientFigures['instances'] {
    const listed = new Set(inspected.map(({ address }) => address));
    for (const address of this.#byAddress.keys()) if (!listed.has(address)) this.#byAddress.delete(address);
    return inspected.map((one) => {
      const counted = this.#of(one.address, nowMs);
      const last = counted.started.at(-1);
      if (last?.picks !== one.picks) counted.started.push({ atMs: nowMs, picks: one.picks });
      // One from before the window stays: it tells what the window began with.
      while (counted.started.length > 1 && (counted.started[1]?.atMs ?? nowMs) < nowMs - longestMs)
        counted.started.shift();
      return {
        address: one.address,
        isListed: true,
        inFlight: one.inFlight,
        picks: one.picks,
        forcePicks: null,
        codes: { ...counted.codes },
        ewmaMs: one.latencyMs,
        success: one.success,
        load: one.load,
        circuit: one.circuit ?? null,
        windows: windowsOf(counted, one.picks, nowMs),
        latencies: latenciesOf(counted, nowMs),
      };
    });
  }

  #of(address: string, nowMs: number): Counted {
    const known = this.#byAddress.get(address) ?? { sinceMs: nowMs, ended: [], started: [], codes: {} };
    this.#byAddress.set(address, known);
    return known;
  }
}

function windowsOf(counted: Counted, picks: number, nowMs: number): InstanceFigures['windows'] {
  const window = (seconds: number): WindowFigures => {
    const fromMs = nowMs - seconds * 1000;
    const ended = counted.ended.filter(({ atMs }) => atMs > fromMs);
    const before = counted.started.findLast(({ atMs }) => atMs <= fromMs)?.picks ?? 0;
    const isWhole = counted.sinceMs <= fromMs;
    const started = picks - (isWhole ? before : 0);
    const overMs = Math.max(1000, isWhole ? seconds * 1000 : nowMs - counted.sinceMs);
    return {
      picks: started,
      calls: ended.length,
      errors: ended.filter(({ isError }) => isError).length,
      picksPerSecond: (started * 1000) / overMs,
      latencyMs: null,
    };
  };
  const [short, middle, long] = windowsSeconds;
  return { [short]: window(short), [middle]: window(middle), [long]: window(long) } as InstanceFigures['windows'];
}

function latenciesOf({ ended }: Counted, nowMs: number): InstanceFigures['latencies'] {
  const counts = new Map<number, number>();
  for (const { atMs, latencyMs } of ended) {
    if (atMs <= nowMs - latencyWindowMs) continue;
    const upToMs = Math.exp(Math.ceil(Math.log(Math.max(latencyMs, 0.01)) / step) * step);
    counts.set(upToMs, (counts.get(upToMs) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => a - b);
}

function forget(ended: Ended[], nowMs: number): void {
  while (ended[0] !== undefined && ended[0].atMs < nowMs - longestMs) ended.shift();
}
