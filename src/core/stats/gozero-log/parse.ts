import { isObject, parseObject } from '../../dialects/codec.js';

/** One instance in a statistics line. */
export interface Conn {
  readonly address: string;
  /** trunc(sqrt(lag + 1)) * (in flight + 1), lag in ns. */
  readonly load: number;
  /** Picks since the same picker's line before. */
  readonly reqs: number;
}

/** One statistics line of go-zero's p2c. */
export interface StatisticsLine {
  /** What kubectl or docker compose wrote before it to tell the writers apart; empty without. */
  readonly writer: string;
  /** Milliseconds since the epoch; null when the time is in a format that we do not know. */
  readonly atMs: number | null;
  readonly conns: readonly Conn[];
  /** It was cut, and tells of more instances than these. */
  readonly isCut: boolean;
}

const marker = 'p2c - conn: ';
const ansi = /\u001b\[[0-9;]*[A-Za-z]/g;
/** `[pod/shop-0/shop] ` of kubectl --prefix, `shop-1  | ` of docker compose. */
const prefix = /^(?:\[([^\]\s]{1,300})\] |([\w.-]{1,300}) *\| )/;
const conn = /^conn: ([^\s,;"]+), load: (\d{1,19}), reqs: (\d{1,19})$/;
const isoTime = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/;

export function hasMarker(line: string): boolean {
  return line.includes('p2c - ');
}

/**
 * Reads a line of go-zero's logx, JSON or plain, as `core/logx` and `zrpc/internal/balancer/p2c` of v1.10 write it. Null for
 * every other line, and for one in which two writes met: a number that may be made of two is none.
 */
export function parseStatisticsLine(raw: string): StatisticsLine | null {
  if (!hasMarker(raw)) return null;
  const line = raw.replace(ansi, '');
  if (line.indexOf(marker) !== line.lastIndexOf(marker) || !line.includes(marker)) return null;
  const [before = '', pod, container] = prefix.exec(line) ?? [];
  const writer = pod ?? container ?? '';
  const brace = line.indexOf('{"');
  const at = line.indexOf(marker);
  const read = brace >= 0 && brace < at ? parseJson(line.slice(brace)) : parsePlain(line.slice(before.length));
  return read && { writer, ...read };
}

/** What is left of statistics lines that cannot be read. */
export interface TornLine {
  readonly writer: string;
  /** How many of them one line holds the beginning of. */
  readonly lines: number;
  /** When it was written; null when that is not certain. */
  readonly atMs: number | null;
  /** Those that can still be read. */
  readonly addresses: readonly string[];
}

/** Of a line that `parseStatisticsLine` could not read. Null when it is another record, which quotes one at most. */
export function parseTornLine(raw: string): TornLine | null {
  const line = raw.replace(ansi, '');
  const lines = line.split(marker).length - 1;
  if (lines === 0 || isOtherRecord(line)) return null;
  const [before = '', pod, container] = prefix.exec(line) ?? [];
  const at = line.indexOf(marker);
  const brace = line.indexOf('{"');
  const head = line.slice(brace >= 0 && brace < at ? brace : before.length, at);
  const time = lines === 1 && countRecords(line) === 1 ? isoTime.exec(head)?.[0] : undefined;
  const addresses = [...line.matchAll(/conn: ([^\s,;"]+), load: /g)].flatMap(([, address]) => address ?? []);
  return { writer: pod ?? container ?? '', lines, atMs: time === undefined ? null : msOf(time), addresses };
}

function isOtherRecord(line: string): boolean {
  const at = line.indexOf(marker);
  const brace = line.indexOf('{"');
  if (brace < 0 || brace > at) {
    const [, level, content = ''] = line.split('\t');
    return level !== undefined && level.trim() !== 'stat' && !content.startsWith(marker);
  }
  const value = parseObject(line.slice(brace));
  return value !== null && !Object.values(value).some((one) => typeof one === 'string' && one.startsWith(marker));
}

type Read = Omit<StatisticsLine, 'writer'> | null;

/** How many records begin in a line: one in a good one, none in the end of a torn one, two where somebody wrote in between. */
export function countRecords(line: string): number {
  const plain = line.match(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*\t/g)?.length ?? 0;
  const brace = line.indexOf('{"');
  // What a plain record holds of JSON is its own matter.
  if (plain > 0 || brace < 0) return plain;
  try {
    JSON.parse(line.slice(brace));
    return 1;
  } catch {
    return line.match(/\{"/g)?.length ?? 0;
  }
}

function parseJson(text: string): Read {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return parseCutJson(text);
  }
  if (!isObject(value)) return null;
  // logx can rename every key: what the values are tells which is which.
  const values = Object.values(value);
  const texts = values.filter((one) => typeof one === 'string');
  const content = texts.find((one) => one.startsWith(marker));
  if (content === undefined) return null;
  const known = value['@timestamp'];
  const time = typeof known === 'string' ? known : texts.find((one) => one !== content && isWholeTime(one));
  // MaxContentLength cuts the content and adds `truncated: true`, under a key that may be renamed as well.
  return connsOf(content, time ?? '', values.includes(true));
}

/** A container's runtime cuts a long line anywhere: then nothing follows the content. */
function parseCutJson(text: string): Read {
  const at = text.indexOf(marker);
  const content = text.slice(at);
  const head = text.slice(0, at);
  if (/["{}\t]/.test(content) || text.indexOf('{', 1) >= 0 || !head.endsWith('":"')) return null;
  return connsOf(content, isoTime.exec(head)?.[0] ?? '', true);
}

/** Time, level, content and `key=value` fields, separated by tabs; the caller is always among the fields. */
function parsePlain(text: string): Read {
  const columns = text.split('\t');
  const at = columns.findIndex((column) => column.startsWith(marker));
  if (at !== 2 || columns[1]?.trim() !== 'stat') return null;
  const fields = columns.slice(at + 1);
  const isWhole = fields.some((field) => field.includes('=')) && !fields.some((field) => field.endsWith('=true'));
  return connsOf(columns[at] ?? '', columns[0] ?? '', !isWhole);
}

function connsOf(content: string, time: string, isCut: boolean): Read {
  const parts = content.slice('p2c - '.length).split('; ');
  // Of a cut one the last number may have lost its end.
  if (isCut) parts.pop();
  const conns = new Map<string, Conn>();
  for (const part of parts) {
    const [, address, load, reqs] = conn.exec(part) ?? [];
    if (address === undefined || conns.has(address)) return null;
    conns.set(address, { address, load: Number(load), reqs: Number(reqs) });
  }
  if (conns.size === 0) return null;
  return { atMs: isWholeTime(time) ? msOf(time) : null, conns: [...conns.values()], isCut };
}

function msOf(time: string): number | null {
  const atMs = Date.parse(time.replace(',', '.'));
  return Number.isNaN(atMs) ? null : atMs;
}

function isWholeTime(text: string): boolean {
  return isoTime.exec(text)?.[0] === text;
}
