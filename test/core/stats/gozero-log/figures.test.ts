import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LogStatistics } from '../../../../src/core/stats/gozero-log/figures.js';
import { ewmaBoundMs, inFlightOf, readingsOf } from '../../../../src/core/stats/gozero-log/load.js';
import { GozeroLogReader, type LogRecord } from '../../../../src/core/stats/gozero-log/reader.js';

describe('a load', () => {
  test('of 2236 with none in flight is 5 ms', () => {
    expect(ewmaBoundMs(2236)).toBeCloseTo(5, 2);
    expect(readingsOf(2236)[0]).toEqual({ inFlight: 0, ewmaMs: 2236 ** 2 / 1e6 });
  });

  test('stands for the latency and the calls in flight that made it, among few others', () => {
    const lag = fc.integer({ min: 20_000, max: 5_000_000_000 });
    fc.assert(
      fc.property(lag, fc.nat(3), (lagNs, inFlight) => {
        const root = Math.trunc(Math.sqrt(lagNs + 1));
        const readings = readingsOf(root * (inFlight + 1));
        expect(readings.length).toBeLessThanOrEqual(8);
        const right = readings.find((one) => one.inFlight === inFlight);
        expect(right?.ewmaMs).toBeCloseTo(root ** 2 / 1e6, 9);
        for (const one of readings) expect(one.ewmaMs).toBeLessThanOrEqual(ewmaBoundMs(root * (inFlight + 1)) ?? 0);
      }),
    );
  });

  test('of an instance that has not answered tells no latency, but what is in flight', () => {
    expect([ewmaBoundMs(1), readingsOf(1), inFlightOf(1)]).toEqual([null, [], 0]);
    expect([ewmaBoundMs(3), readingsOf(3), inFlightOf(3)]).toEqual([null, [], 2]);
    expect(inFlightOf(2236)).toBeNull();
  });

  test('that is the penalty tells nothing', () => {
    expect([ewmaBoundMs(2147483647), readingsOf(2147483647), inFlightOf(2147483647)]).toEqual([null, [], null]);
  });
});

const at = (seconds: number) => 1_700_000_000_000 + seconds * 1000;
const conn = (address: string, load: number, reqs: number) => ({ address, load, reqs });
const line = (stream: string, seconds: number | null, ...conns: ReturnType<typeof conn>[]) => ({
  stream,
  atMs: seconds === null ? null : at(seconds),
  conns,
  isCut: false,
});

function told(...lines: LogRecord[]): LogStatistics {
  const statistics = new LogStatistics();
  for (const one of lines) statistics.add(one);
  return statistics;
}
const rate = (statistics: LogStatistics, address: string, stream: string | null = null) =>
  statistics.figures(stream).get(address)?.callsPerSecond;

describe('the rate', () => {
  test('is over the time since the line before; of the first line it is not known', () => {
    expect(rate(told(line('s', 0, conn('a', 2236, 50))), 'a')).toBeNull();
    expect(rate(told(line('s', 0, conn('a', 2236, 50)), line('s', 80, conn('a', 2236, 120))), 'a')).toBe(1.5);
  });

  describe('after a line that was lost', () => {
    const torn = (seconds: number | null, ...addresses: string[]) => ({
      stream: 's',
      lines: 1,
      atMs: seconds === null ? null : at(seconds),
      addresses,
    });
    const [first, last] = [
      line('s', 0, conn('a', 2000, 600), conn('b', 2000, 1200)),
      line('s', 120, conn('a', 2000, 600), conn('b', 2000, 1200)),
    ];
    const next = line('s', 181, conn('a', 2000, 610), conn('b', 2000, 1220));

    test('is over the time since that line, where its time is left', () => {
      for (const addresses of [['a'], []]) {
        const statistics = told(first, torn(60, ...addresses), last);
        expect([rate(statistics, 'a'), rate(statistics, 'b')]).toEqual([10, 20]);
        expect([...statistics.lost]).toEqual([['s', 1]]);
      }
    });

    test('is unknown where nothing tells when it was written, or whose it was, until the next line', () => {
      const others = line('s', 1, conn('x', 2000, 5), conn('y', 2000, 5));
      for (const lines of [
        [first, torn(null, 'a'), last],
        [first, torn(60, 'new'), last],
        [first, others, torn(60), last],
        [first, torn(null), last],
        // Nothing is left of it, as behind a truncation: go-zero would have written after a minute of so many calls.
        [first, last],
      ]) {
        expect(rate(told(...lines), 'a')).toBeNull();
        expect(rate(told(...lines, next), 'a')).toBe(10);
      }
    });

    test('is not touched by one of another picker', () => {
      const others = line('s', 1, conn('x', 2000, 5));
      const at60 = line('s', 60, conn('a', 2000, 600));
      expect(rate(told(first, others, torn(null, 'x'), at60), 'a')).toBe(10);
    });

    test('of several streams is unknown too: what is missing is not 0', () => {
      const other = [line('t', 61, conn('a', 2000, 60)), line('t', 121, conn('a', 2000, 60))];
      expect(rate(told(first, last, ...other), 'a')).toBeNull();
      expect(rate(told(first, last, ...other), 'a', 't')).toBe(1);
    });

    test('is not doubted when calls are few: then a line waits for an answer', () => {
      expect(rate(told(line('s', 0, conn('a', 2000, 3)), line('s', 120, conn('a', 2000, 3))), 'a')).toBe(0.025);
    });
  });

  test('of the recorded logs is that of their traffic', () => {
    for (const encoding of ['json', 'plain']) {
      const bytes = readFileSync(new URL(`../../../fixtures/gozero-stat.${encoding}.log`, import.meta.url));
      const statistics = told(...new GozeroLogReader().push('f', bytes));
      const rates = [1, 2, 3, 4].map((number) => rate(statistics, `127.0.0.1:940${number}`) ?? 0);
      expect(rates.reduce((sum, one) => sum + one, 0)).toBeCloseTo(150, -0.5);
      expect(rates[2]).toBeCloseTo(1, 1);
    }
  });

  test('of several streams adds up, and each can be looked at alone', () => {
    const statistics = told(
      line('s', 0, conn('a', 2000, 1)),
      line('t', 10, conn('a', 4000, 1)),
      line('s', 60, conn('a', 2000, 60)),
      line('t', 70, conn('a', 4000, 180), conn('b', 1, 0)),
    );
    expect(rate(statistics, 'a')).toBe(4);
    expect([rate(statistics, 'a', 's'), rate(statistics, 'a', 't')]).toEqual([1, 3]);
    expect(statistics.figures(null).get('a')).toMatchObject({ load: 3000, inFlight: null, calls: 240 });
    // By their calls: (4 ms * 60 + 16 ms * 180) / 240.
    expect(statistics.figures(null).get('a')?.ewmaBoundMs).toBe(13);
    expect(statistics.figures('s').get('b')).toBeUndefined();
  });

  test('is not known after a change of the list, which makes go-zero count anew', () => {
    const before = [line('s', 0, conn('a', 2000, 1)), line('s', 60, conn('a', 2000, 60))];
    const rebuilt = line('s', 75, conn('a', 1, 1), conn('b', 1, 0));
    expect(rate(told(...before, rebuilt), 'a')).toBeNull();
    expect(rate(told(...before, rebuilt, line('s', 135, conn('a', 2000, 120), conn('b', 2000, 30))), 'a')).toBe(2);
  });

  test('of one picker is not taken from the lines of another in the same process', () => {
    const statistics = told(
      line('s', 0, conn('a', 2000, 1)),
      line('s', 55, conn('x', 2000, 1)),
      line('s', 60, conn('a', 2000, 60)),
      line('s', 115, conn('x', 2000, 600)),
    );
    expect([rate(statistics, 'a'), rate(statistics, 'x')]).toEqual([1, 10]);
    expect([...statistics.figures(null, (addresses) => !addresses.includes('a')).keys()]).toEqual(['a']);
  });

  test('is not known without times, or when the clock went back', () => {
    expect(rate(told(line('s', null, conn('a', 2000, 1)), line('s', null, conn('a', 2000, 60))), 'a')).toBeNull();
    expect(rate(told(line('s', 90, conn('a', 2000, 1)), line('s', 60, conn('a', 2000, 60))), 'a')).toBeNull();
  });
});

describe('a line that was cut', () => {
  const cut = (stream: string, seconds: number, ...conns: ReturnType<typeof conn>[]) => ({
    ...line(stream, seconds, ...conns),
    isCut: true,
  });
  const whole = (seconds: number) => line('s', seconds, conn('a', 2000, 60), conn('b', 2000, 120));
  const short = cut('s', 60, conn('a', 2000, 60));

  test('leaves unknown what it holds no more, and the next one tells it again', () => {
    const statistics = told(whole(0), short);
    expect(statistics.figures(null).get('b')).toMatchObject({ load: null, callsPerSecond: null, inFlight: null });
    expect([rate(statistics, 'a'), rate(statistics, 'b')]).toEqual([1, null]);
    statistics.add(cut('s', 120, conn('a', 2000, 60)));
    expect(statistics.figures(null).has('b')).toBe(true);
    statistics.add(whole(180));
    expect([rate(statistics, 'a'), rate(statistics, 'b')]).toEqual([1, 2]);
  });

  test('leaves a sum over streams unknown', () => {
    const statistics = told(whole(0), line('t', 1, conn('b', 2000, 9)), short, line('t', 61, conn('b', 2000, 60)));
    expect(rate(statistics, 'b')).toBeNull();
    expect(statistics.figures(null).get('b')?.load).toBe(2000);
    const late = told(short, line('t', 61, conn('b', 2000, 9)), whole(120), line('t', 121, conn('b', 2000, 60)));
    expect(rate(late, 'b')).toBeNull();
  });

  test('is told of as long as it leaves something unknown, of whichever picker it is', () => {
    const isCut = (statistics: LogStatistics) => statistics.streams().map((stream) => stream.isCut);
    expect(isCut(told(whole(0), short, line('s', 61, conn('x', 2000, 1))))).toEqual([true]);
    expect(isCut(told(whole(0), short, whole(120)))).toEqual([true]);
    expect(isCut(told(whole(0), short, whole(120), whole(180)))).toEqual([false]);
  });
});

test('an instance that left a client is not shown any more, and a stream that fell silent is left out', () => {
  const statistics = told(
    line('s', 0, conn('a', 2000, 1), conn('b', 2000, 1)),
    line('t', 0, conn('c', 2000, 1)),
    line('s', 300, conn('a', 2000, 1)),
  );
  expect([...statistics.figures(null).keys()]).toEqual(['a']);
  expect(statistics.streams().map(({ stream, behindMs }) => [stream, behindMs])).toEqual([
    ['s', 0],
    ['t', 300_000],
  ]);
});
