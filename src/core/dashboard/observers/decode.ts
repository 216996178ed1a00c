import { finiteNumber, isObject, type JsonObject, parseObject } from '../../dialects/codec.js';
import {
  type ClientFigures,
  type Compared,
  type InstanceFigures,
  type PickTrace,
  type WindowFigures,
  windowsSeconds,
} from '../../stats/figures.js';

/** What another program sends is data of a stranger: it is as described here, or it is none. */
const mostInstances = 20_000;
const mostLatencies = 2000;
const mostTrace = 1000;
const mostCodes = 100;

/** The clients of one line of a statistics stream; null for anything else. */
export function decodeStatistics(line: string): readonly ClientFigures[] | null {
  const value = parseObject(line);
  if (!value || !Array.isArray(value.clients)) return null;
  const clients = value.clients.map(clientOf);
  return clients.every((client) => client !== null) ? clients : null;
}

function clientOf(value: unknown): ClientFigures | null {
  if (!isObject(value)) return null;
  const instances = listOf(value.instances, mostInstances, instanceOf);
  if (!instances || typeof value.service !== 'string') return null;
  return {
    id: text(value.id),
    client: text(value.client),
    host: text(value.host),
    pid: count(value.pid),
    service: value.service,
    policy: text(value.policy),
    at: text(value.at),
    instances,
    trace: listOf(value.trace, mostTrace, traceOf) ?? [],
  };
}

function instanceOf(value: unknown): InstanceFigures | null {
  if (!isObject(value) || typeof value.address !== 'string' || !isObject(value.windows)) return null;
  const { circuit, isReachable, windows } = value;
  const [short, middle, long] = windowsSeconds.map((seconds) => windowOf(windows[seconds]));
  if (!short || !middle || !long) return null;
  return {
    address: value.address,
    isListed: value.isListed === true,
    inFlight: count(value.inFlight),
    picks: count(value.picks),
    forcePicks: finiteNumber(value.forcePicks),
    codes: codesOf(value.codes),
    ewmaMs: finiteNumber(value.ewmaMs),
    success: finiteNumber(value.success),
    load: finiteNumber(value.load),
    isReachable: typeof isReachable === 'boolean' ? isReachable : null,
    circuit: circuit === 'open' || circuit === 'half-open' || circuit === 'closed' ? circuit : null,
    windows: { 1: short, 10: middle, 60: long },
    latencies: listOf(value.latencies, mostLatencies, pairOf) ?? [],
  };
}

function windowOf(value: unknown): WindowFigures | null {
  if (!isObject(value)) return null;
  const { p50, p90, p99 } = isObject(value.latencyMs) ? value.latencyMs : ({} as JsonObject);
  const latencyMs = { p50: finiteNumber(p50), p90: finiteNumber(p90), p99: finiteNumber(p99) };
  return {
    picks: count(value.picks),
    calls: count(value.calls),
    errors: count(value.errors),
    picksPerSecond: count(value.picksPerSecond),
    latencyMs:
      latencyMs.p50 === null || latencyMs.p90 === null || latencyMs.p99 === null
        ? null
        : { p50: latencyMs.p50, p90: latencyMs.p90, p99: latencyMs.p99 },
  };
}

function pairOf(value: unknown): readonly [number, number] | null {
  if (!Array.isArray(value) || value.length !== 2) return null;
  return [count(value[0]), count(value[1])];
}

function traceOf(value: unknown): PickTrace | null {
  if (!isObject(value)) return null;
  const compared = listOf(value.compared, 64, comparedOf);
  if (!compared) return null;
  return { at: text(value.at), compared, chosen: text(value.chosen), isForced: value.isForced === true };
}

function comparedOf(value: unknown): Compared | null {
  if (!isObject(value) || typeof value.address !== 'string') return null;
  return { address: value.address, load: count(value.load), inFlight: count(value.inFlight) };
}

function codesOf(value: unknown): Record<string, number> {
  if (!isObject(value)) return {};
  const named = Object.entries(value).filter(([name]) => /^[A-Z_0-9]{1,40}$/.test(name));
  return Object.fromEntries(named.slice(0, mostCodes).map(([name, calls]) => [name, count(calls)]));
}

function listOf<T>(value: unknown, most: number, decode: (one: unknown) => T | null): T[] | null {
  if (!Array.isArray(value) || value.length > most) return null;
  const all = value.map(decode);
  return all.every((one) => one !== null) ? (all as T[]) : null;
}

function count(value: unknown): number {
  return Math.max(0, finiteNumber(value) ?? 0);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 500) : '';
}
