import { finiteNumber, isObject, type JsonObject, parseObject } from '../../dialects/codec.js';
import type { Detail, Frame, HistoryEvent, Row } from '../frame.js';

/** The first line of a recording, and of each session that was appended to it. */
export const recordingHeader = { format: 'lbctl-dashboard', version: 1 } as const;

export type RecordedLine = { readonly kind: 'header' } | { readonly kind: 'frame'; readonly frame: Frame };

/** Null for anything else: a line that was cut, or of another version. */
export function decodeLine(line: string): RecordedLine | null {
  const value = parseObject(line);
  if (!value) return null;
  if (value.format === recordingHeader.format)
    return value.version === recordingHeader.version ? { kind: 'header' } : null;
  const frame = frameOf(value);
  return frame && { kind: 'frame', frame };
}

/** A recording may have been edited by hand, and is shown on a terminal: only what a frame has goes through. */
function frameOf(value: JsonObject): Frame | null {
  const { at, source, rows } = value;
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at)) || !Array.isArray(rows)) return null;
  if (source !== 'probe' && source !== 'observers' && source !== 'log') return null;
  const decoded = rows.map(rowOf);
  if (!decoded.every((row) => row !== null)) return null;
  return {
    at,
    service: text(value.service),
    context: text(value.context),
    policy: textOrNull(value.policy),
    source,
    observers: finiteNumber(value.observers),
    view: textOrNull(value.view),
    staleForMs: finiteNumber(value.staleForMs),
    skew: finiteNumber(value.skew),
    notices: Array.isArray(value.notices) ? value.notices.map(text) : [],
    rows: decoded,
    detail: detailOf(value.detail),
  };
}

const states = ['up', 'paused', 'gone'] as const;
const healths = ['healthy', 'unhealthy', 'ejected', 'probing'] as const;

function rowOf(value: unknown): Row | null {
  if (!isObject(value) || typeof value.id !== 'string' || typeof value.address !== 'string') return null;
  const lease = isObject(value.lease) ? value.lease : null;
  const pause = isObject(value.pause) ? value.pause : null;
  const codes = isObject(value.codes) ? Object.entries(value.codes) : [];
  return {
    id: value.id,
    address: value.address,
    name: text(value.name),
    state: states.find((state) => state === value.state) ?? null,
    health: healths.find((health) => health === value.health) ?? null,
    weight: finiteNumber(value.weight),
    zone: text(value.zone),
    load: finiteNumber(value.load),
    inFlight: finiteNumber(value.inFlight),
    callsPerSecond: finiteNumber(value.callsPerSecond),
    share: finiteNumber(value.share),
    errorRate: finiteNumber(value.errorRate),
    ewmaMs: finiteNumber(value.ewmaMs),
    isEwmaBound: value.isEwmaBound === true,
    p99Ms: finiteNumber(value.p99Ms),
    lease: lease && {
      remainingSeconds: finiteNumber(lease.remainingSeconds) ?? 0,
      ttlSeconds: finiteNumber(lease.ttlSeconds) ?? 0,
    },
    codes: Object.fromEntries(codes.flatMap(([name, calls]) => (typeof calls === 'number' ? [[name, calls]] : []))),
    pause: pause && { by: text(pause.by), at: text(pause.at), reason: text(pause.reason) },
  };
}

/** Of the details only what needs no second look: who looks at a recording looks at other rows. */
function detailOf(value: unknown): Detail | null {
  if (!isObject(value) || typeof value.id !== 'string') return null;
  const history = Array.isArray(value.history) ? value.history.filter(isObject) : [];
  return {
    id: value.id,
    history: history.map((event): HistoryEvent => {
      return { id: text(event.id), at: textOrNull(event.at), text: text(event.text) };
    }),
    ringShare: finiteNumber(value.ringShare),
    trace: [],
    readings: [],
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
