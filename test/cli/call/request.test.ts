import { describe, expect, it } from 'vitest';
import { type CallFlags, callRequest } from '../../../src/cli/call/request.js';

const request = (flags: Partial<CallFlags>) => callRequest({ timeout: '2s', retry: false, ...flags });

describe('the flags of call', () => {
  it('mean ten health checks, one after the other, when there are none', () => {
    expect(request({})).toMatchObject({
      policies: ['p2c_ewma'],
      method: null,
      plan: { count: 10, durationMs: null, rps: null, concurrency: 1 },
      timeoutMs: 2000,
    });
  });

  it('with a duration set no number; with a rate let many be in flight', () => {
    expect(request({ duration: '20s', rps: '0.5' }).plan).toEqual({
      count: null,
      durationMs: 20_000,
      rps: 0.5,
      concurrency: 1000,
    });
  });

  it('take a key for policies that hash, in --key or in metadata', () => {
    expect(request({ policy: ['maglev,p2c_ewma'], key: 'u{n}' }).policies).toEqual(['maglev', 'p2c_ewma']);
    expect(request({ policy: ['consistent_hash'], metadata: ['X-User-Id=7'] }).metadata).toEqual([['X-User-Id', '7']]);
  });

  it.each([
    [{ policy: ['p2c'] }, 'no policy "p2c"'],
    [{ policy: [','] }, 'no policy ""'],
    [{ policy: ['random,random'] }, 'names one twice'],
    [{ policy: ['maglev'] }, 'maglev needs the hash key'],
    [{ policy: ['maglev'], key: '' }, 'maglev needs the hash key'],
    [{ policy: ['maglev'], metadata: ['x-user-id='] }, 'maglev needs the hash key'],
    [{ rps: '0' }, '--rps "0"'],
    [{ rps: '-5' }, '--rps "-5"'],
    [{ rps: 'many' }, '--rps "many"'],
    [{ rps: '' }, '--rps ""'],
    [{ rps: 'Infinity' }, '--rps "Infinity"'],
    [{ duration: '0s' }, '--duration "0s"'],
    [{ duration: 'x' }, '"x" is not a duration'],
    [{ duration: '' }, 'duration'],
    [{ timeout: '0' }, '--timeout "0"'],
    [{ timeout: '100d' }, '--timeout "100d"'],
    [{ metadata: ['novalue'] }, '--metadata "novalue"'],
    [{ metadata: ['=v'] }, '--metadata "=v"'],
    [{ data: '{}' }, '--data is for a method'],
    [{ proto: 'a.proto' }, '--proto is for a method'],
    [{ method: 'a.B/C', 'import-path': ['x'] }, '--import-path is for'],
    [{ method: 'a.B/C', data: '{' }, '--data is no JSON'],
    [{ method: 'a.B/C', data: '@/nowhere.json' }, 'Cannot read --data @/nowhere.json'],
  ] as const)('%j are refused', (flags, words) => {
    expect(() => request(flags as Partial<CallFlags>)).toThrow(
      expect.objectContaining({ code: 'USAGE', message: expect.stringContaining(words) }),
    );
  });
});
