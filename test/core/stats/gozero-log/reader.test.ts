import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  GozeroLogReader,
  isLost,
  type LogRecord,
  type LogSample,
  type LostLines,
} from '../../../../src/core/stats/gozero-log/reader.js';
import { LineSplitter } from '../../../../src/core/stats/lines.js';

const recorded = { json: fixture('json'), plain: fixture('plain') };

function fixture(encoding: string): Buffer {
  return readFileSync(new URL(`../../../fixtures/gozero-stat.${encoding}.log`, import.meta.url));
}

function read(...chunks: (string | Uint8Array)[]): LogSample[] {
  return records(...chunks).flatMap((record) => (isLost(record) ? [] : [record]));
}

function lost(...chunks: (string | Uint8Array)[]): LostLines[] {
  return records(...chunks).filter(isLost);
}

function records(...chunks: (string | Uint8Array)[]): LogRecord[] {
  const reader = new GozeroLogReader();
  const samples = chunks.flatMap((chunk) => reader.push('f', typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
  return [...samples, ...reader.end('f')];
}

const json = (content: string, more: object = {}) =>
  `${JSON.stringify({ '@timestamp': '2026-11-30T00:55:25.811Z', caller: 'p2c/p2c.go:195', content, level: 'stat', ...more })}\n`;
const plain = (content: string, more = '') =>
  `2026-11-30T00:55:25.811Z\t stat \t${content}\tcaller=p2c/p2c.go:195${more}\n`;
const two = 'p2c - conn: 10.0.0.1:80, load: 2386, reqs: 7; conn: [::1]:80, load: 1, reqs: 0';
const conns = [
  { address: '10.0.0.1:80', load: 2386, reqs: 7 },
  { address: '[::1]:80', load: 1, reqs: 0 },
];

describe('the recorded logs', () => {
  test.each(['json', 'plain'] as const)('hold four statistics lines of four instances (%s)', (encoding) => {
    const samples = read(recorded[encoding]);
    expect(samples.map(({ conns: { length } }) => length)).toEqual([4, 4, 4, 4]);
    expect(samples.every(({ isCut, stream }) => !isCut && stream === 'f')).toBe(true);
    expect(samples.map(({ atMs }) => Math.round(((atMs ?? 0) - (samples[0]?.atMs ?? 0)) / 1000))).toEqual([
      0, 60, 120, 180,
    ]);
  });

  test('give the values that are in them', () => {
    const [, second] = read(recorded.json);
    expect(second?.atMs).toBe(Date.parse('2026-11-30T00:55:25.811Z'));
    expect(second?.conns).toEqual([
      { address: '127.0.0.1:9403', load: 9000, reqs: 63 },
      { address: '127.0.0.1:9404', load: 1178, reqs: 1141 },
      { address: '127.0.0.1:9402', load: 2357, reqs: 2629 },
      { address: '127.0.0.1:9401', load: 2346, reqs: 5165 },
    ]);
  });

  test('give the same however they are cut into chunks, with characters of many bytes around them', () => {
    const noise = Buffer.from('{"@timestamp":"2026-11-30T00:55:25.781Z","content":"überlastet 🔥","level":"info"}\n');
    for (const bytes of Object.values(recorded)) {
      const whole = Buffer.concat([noise, bytes, noise, bytes]);
      const expected = read(whole);
      expect(expected).toHaveLength(8);
      const cuts = fc.array(fc.nat(whole.length), { maxLength: 40 });
      fc.assert(
        fc.property(cuts, (at) => {
          const edges = [0, ...at.sort((a, b) => a - b), whole.length];
          const chunks = edges.slice(1).map((to, index) => whole.subarray(edges[index], to));
          expect(read(...chunks)).toEqual(expected);
        }),
        { numRuns: 60 },
      );
    }
  });
});

describe('a line', () => {
  test.each([
    ['as JSON', json(two)],
    ['plain', plain(two)],
    ['with CRLF', json(two).replace('\n', '\r\n')],
    ['without its end', plain(two).trimEnd()],
    ['in colours', plain(two).replace(' stat ', '\u001b[32m stat \u001b[0m')],
    [
      'with renamed fields',
      json(two)
        .replace('@timestamp', 't')
        .replace('"content"', '"msg"')
        .replace('"level"', '"lvl"')
        .replace('caller', 'c'),
    ],
    ['with fields of its own', json(two, { trace: 'abc', port: 80 })],
    ['as a container runtime keeps it', `2026-11-30T00:55:25.9Z stdout F ${json(two)}`],
  ])('is read %s', (_, line) => {
    expect(read(line)).toEqual([{ stream: 'f', atMs: Date.parse('2026-11-30T00:55:25.811Z'), conns, isCut: false }]);
  });

  test.each([
    ['kubectl', '[pod/shop-7f/shop] ', 'f pod/shop-7f/shop'],
    ['docker compose', 'shop-1  | ', 'f shop-1'],
    ['docker compose in colours', '\u001b[36mshop-1  | \u001b[0m', 'f shop-1'],
  ])('behind the prefix of %s is of a stream of its own', (_, prefix, stream) => {
    expect(read(prefix + json(two)).map((sample) => sample.stream)).toEqual([stream]);
    expect(read(prefix + plain(two)).map((sample) => sample.stream)).toEqual([stream]);
  });

  test('with a time in a format of its own is read without it', () => {
    expect(read(json(two, { '@timestamp': 'Monday noon' }))[0]).toMatchObject({ atMs: null, conns });
    expect(read(plain(two).replace(/^\S+/, 'Nov 30 noon'))[0]).toMatchObject({ atMs: null, conns });
  });

  test('that was cut gives what is whole, and never the number at the cut', () => {
    // Every length of content that still holds one whole instance.
    for (let length = two.indexOf(';') + 2; length <= two.length; length++) {
      const cut = two.slice(0, length);
      for (const line of [
        json(cut, { truncated: true }),
        json(cut, { cut_short: true }),
        plain(cut, '\ttruncated=true'),
      ]) {
        expect(read(line), line).toEqual([
          { stream: 'f', atMs: Date.parse('2026-11-30T00:55:25.811Z'), conns: conns.slice(0, 1), isCut: true },
        ]);
      }
      // A runtime's cut leaves nothing behind the content.
      expect(read(json(two).slice(0, json(two).indexOf('p2c - ') + length))[0]?.conns).toEqual(conns.slice(0, 1));
      expect(read(plain(two).slice(0, plain(two).indexOf('p2c - ') + length))[0]?.conns).toEqual(conns.slice(0, 1));
    }
    expect(read(json('p2c - conn: 10.0.0.1:80, load: 23', { truncated: true }))).toEqual([]);
  });

  test.each([
    ['nothing', '\n\n'],
    ['another statistics line', json('CPU: 94m, MEMORY: Alloc=5.1Mi')],
    ['words about p2c', json('p2c - nothing to tell')],
    ['bytes', Buffer.from([0xff, 0xfe, 0x00, 0x0a])],
    ['a negative load', json('p2c - conn: a:1, load: -5, reqs: 1')],
    ['an instance twice', json('p2c - conn: a:1, load: 5, reqs: 1; conn: a:1, load: 6, reqs: 1')],
    ['a quote of it in an error', json(`cannot parse "${two}"`)],
  ])('that is none gives nothing: %s', (_, line) => {
    expect(read(line)).toEqual([]);
  });

  const atMs = Date.parse('2026-11-30T00:55:25.811Z');
  const long = '9'.repeat(20);
  test.each<[string, string, number | null, string[]]>([
    ['torn JSON', json(two).slice(0, json(two).indexOf(', reqs')), atMs, ['10.0.0.1:80']],
    ['a torn plain line', plain(two).slice(0, plain(two).indexOf(', reqs')), atMs, ['10.0.0.1:80']],
    ['one torn before its first address', json(two).slice(0, json(two).indexOf('10.0')), atMs, []],
    ['an overlong number', json(two.replace('2386', long)), atMs, ['10.0.0.1:80', '[::1]:80']],
    ['a tail', json(two).slice(50), null, ['10.0.0.1:80', '[::1]:80']],
  ])('that cannot be read is told of, with what is left: %s', (_, line, when, addresses) => {
    expect(lost(line)).toEqual([{ stream: 'f', lines: 1, atMs: when, addresses }]);
  });

  test('that cannot be read is told of by its writer, and each of two', () => {
    const torn = json(two).slice(0, 100);
    expect(lost(`[pod/shop-7f/shop] ${torn}`)[0]).toMatchObject({ stream: 'f pod/shop-7f/shop', lines: 1, atMs });
    expect(lost(torn + json(two))).toEqual([expect.objectContaining({ lines: 2, atMs: null })]);
    // Its end is to come: until then good lines are left out as well.
    expect(lost(torn + json(two), json(two))).toHaveLength(2);
  });

  test.each([
    ['words about p2c', json('p2c - nothing to tell')],
    ['a quote of one in an error', json(`cannot parse "${two}"`)],
    ['a quote of one in a plain error', plain(`cannot parse ${two}`).replace('stat', 'error')],
    ['one that was cut and still tells something', json(two.slice(0, -8), { truncated: true })],
  ])('that is no statistics line is no lost one: %s', (_, line) => {
    expect(lost(line)).toEqual([]);
  });

  test('of any length is bounded, and the next one is read', () => {
    const lines = new LineSplitter(4);
    expect([...lines.push(Buffer.from('abc')), ...lines.push(Buffer.from('defg\nhi\n'))]).toEqual(['abcd', 'hi']);
    const reader = new GozeroLogReader();
    for (let mebibyte = 0; mebibyte < 20; mebibyte++) reader.push('f', Buffer.alloc(1 << 20, 'x'));
    expect(reader.push('f', Buffer.from(`\n${json(two)}`))).toHaveLength(1);
  });
});

/** Two writers share a file, each line in two writes: numbers may only be such as one of them wrote. */
describe('torn writes', () => {
  const lineOf = (encode: (content: string) => string, writer: number) => (index: number) => {
    const number = (offset: number) => writer * 1_000_000 + index * 10 + offset;
    const parts = [0, 1, 2].map(
      (conn) => `conn: 10.0.${writer}.${conn}:80, load: ${number(conn)}, reqs: ${number(conn + 3)}`,
    );
    return encode(`p2c - ${parts.join('; ')}`);
  };

  test.each([
    ['JSON', (content: string) => json(content)],
    ['plain', (content: string) => plain(content)],
  ])('make no false numbers (%s)', (_, encode) => {
    const writers = [1, 2].map((writer) => lineOf(encode, writer));
    const step = fc.record({ writer: fc.constantFrom(0, 1), cut: fc.integer({ min: 0, max: 400 }) });
    let seen = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 8, maxLength: 30 }), (steps) => {
        const pending = ['', ''];
        const written = [0, 0];
        let file = '';
        for (const { writer, cut } of steps) {
          const isNew = pending[writer] === '';
          if (isNew) {
            const index = written[writer] ?? 0;
            written[writer] = index + 1;
            pending[writer] = writers[writer]?.(index) ?? '';
          }
          const line = pending[writer] ?? '';
          // A beginning holds the time at least: a pipe is torn at thousands of bytes, not at the first few.
          const least = isNew ? 45 : 1;
          const length = cut > 99 ? line.length : Math.max(least, Math.ceil((line.length * cut) / 100));
          file += line.slice(0, length);
          pending[writer] = line.slice(length);
        }
        for (const sample of read(file)) {
          seen++;
          for (const { address, load, reqs } of sample.conns) {
            const [, , writer = '', conn = ''] = /^(\d+)\.0\.(\d)\.(\d):80$/.exec(address) ?? [];
            // A load, a request count and an address that belong to one line.
            expect(Math.floor(load / 1_000_000), file).toBe(Number(writer));
            expect(reqs - load, file).toBe(3);
            expect(load % 10, file).toBe(Number(conn));
          }
        }
      }),
      { numRuns: 1500 },
    );
    expect(seen).toBeGreaterThan(500);
  });
});
