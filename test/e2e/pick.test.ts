import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../support/cli.js';
import { type DevRegistry, startDevRegistry } from '../support/dev-registry.js';

const directory = mkdtempSync(join(tmpdir(), 'lbctl-pick-'));
afterAll(() => rmSync(directory, { recursive: true }));

function file(name: string, content: string | Buffer): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

const pick = (...args: string[]) => run(['pick', ...args]);

async function document(...args: string[]) {
  const { code, stdout, stderr } = await pick(...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

describe('over given nodes, without etcd', () => {
  test('the smooth sequence is one line', async () => {
    const ended = await pick('--nodes', 'A=5,B=1,C=1', '--policy', 'smooth_weighted_round_robin', '-n', '7');
    expect(ended).toEqual({ code: 0, stdout: 'A A B A C A A\n', stderr: '' });
  });

  test('every recorded key has its owner, the empty key and a line of blanks included', async () => {
    const vectors = JSON.parse(readFileSync(new URL('../fixtures/hash.json', import.meta.url), 'utf8'));
    for (const ring of ['gozero', 'crc32']) {
      const { nodes, picks } = vectors[`${ring}_ring`].at(-1);
      const keys = file('keys.txt', `${picks.map((entry: { Key: string }) => entry.Key).join('\n')}\n`);
      const result = await document('--nodes', nodes.join(), '--ring', ring, '--keys-file', keys);
      expect(result).toMatchObject({ schemaVersion: 1, policy: 'consistent_hash', ring, moved: null });
      expect(
        result.picks.map((entry: { key: string; address: string }) => ({ Key: entry.key, Node: entry.address })),
      ).toEqual(picks);
    }
  });

  test('a document of no, one and many picks is whole', async () => {
    const none = await document('--nodes', 'a,b', '--keys-file', file('none.txt', ''));
    expect(none).toMatchObject({ picks: [], distribution: [{ address: 'a', picks: 0, share: 0 }, { address: 'b' }] });
    expect((await document('--nodes', 'a,b', '--key', '')).picks).toMatchObject([
      { key: '', hash: '0000000000000000' },
    ]);
    const many = file('many.txt', Array.from({ length: 50_000 }, (_, i) => `user:${i}\n`).join(''));
    const result = await document('--nodes', 'a,b,c', '--without', 'c', '--keys-file', many);
    expect(result.picks.length).toBe(50_000);
    expect(result.moved).toBe(
      result.picks.filter((entry: { movedFrom: string | null }) => entry.movedFrom === 'c').length,
    );
    expect(result.distribution[0].share + result.distribution[1].share).toBeCloseTo(1);
  });

  test('keys from stdin give the distribution, and how many keys a change moves', async () => {
    const stdin = Array.from({ length: 20_000 }, (_, i) => `user:${i}\n`).join('');
    const { code, stdout, stderr } = await run(
      ['pick', '--nodes', 'a:1,b:1,c:1', '--with', 'd:1', '--keys-file', '-'],
      { stdin },
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ADDRESS +PICKS +SHARE\na:1 +\d+ +\d+\.\d%\n/);
    const moved = Number(/^Keys moved: (\d+)$/m.exec(stdout)?.[1]);
    expect(moved / 20_000).toBeGreaterThan(0.1);
    expect(moved / 20_000).toBeLessThan(0.4);
    expect(stdout.split('\n').filter((line) => /^[abc]:1 +d:1 +\d+$/.test(line)).length).toBe(3);
    expect(stderr).toContain('20000 picks');
  });

  test('--explain says why, and who is next', async () => {
    const { stdout } = await pick('--nodes', 'a:1,b:1,c:1', '--key', 'user:42', '--explain');
    for (const said of [
      'cd01081bf0aa3a68',
      'cdb62d3eecffc842',
      '40 of a:1, hashed as "a:140"',
      'c:1, b:1',
      'goes to c:1',
    ]) {
      expect(stdout).toContain(said);
    }
  });

  test.each([
    ['maglev', ['slot of the table', 'MurmurHash3']],
    ['rendezvous', ['highest of the scores', 'goes to a:1', 'MurmurHash3']],
    ['bounded_load', ['81 of c:1', 'next owner that has room', 'MurmurHash3']],
    ['weighted_hash', ['total weight', 'CRC-32']],
  ])('--explain says how %s decides', async (policy, words) => {
    const { stdout } = await pick('--nodes', 'a:1,b:1,c:1', '--policy', policy, '--key', 'x', '--explain');
    for (const said of words) expect(stdout).toContain(said);
  });

  test('more than 32 nodes: a warning on stderr that go-zero clients disagree', async () => {
    const nodes = Array.from({ length: 33 }, (_, i) => `n${i}`).join();
    const { code, stderr } = await pick('--nodes', nodes, '--key', 'k');
    expect({ code, warned: stderr.includes('go-zero clients would disagree') }).toEqual({ code: 0, warned: true });
  });

  test('what a node or key holds does not reach the terminal raw', async () => {
    for (const format of ['table', 'json', 'ndjson', 'address', 'yaml']) {
      const { code, stdout } = await pick(
        '--nodes',
        'a\u001b[31m,b\u202e',
        '--key',
        '\u009b2J',
        '-n',
        '5',
        '-o',
        format,
      );
      expect(code).toBe(0);
      expect(stdout).not.toMatch(/[\u001b\u009b\u202e]/);
    }
  });

  test.each([
    [['--nodes', 'a,b'], 2, 'none was given'],
    [['--nodes', 'a:1,b:1=-1', '--key', 'k'], 2, '"-1"'],
    [['--nodes', 'a:1,b:1=1e9', '--key', 'k'], 2, '"1e9"'],
    [['--nodes', 'a,a', '--key', 'k'], 2, 'twice'],
    [['--nodes', 'a', '--policy', 'best', '--key', 'k'], 2, 'smooth_weighted_round_robin'],
    [['--nodes', 'a', '--policy', 'hash', '--ring', 'crc32', '--key', 'k'], 2, 'no ring'],
    [['--nodes', 'a', '--policy', 'random', '-n', '0'], 2, 'greater than or equal to 1'],
    [['--nodes', 'a,b', '--without', 'c', '--key', 'k'], 3, 'The nodes are: a, b'],
    [['--nodes', 'a', '--without', 'a', '--key', 'k'], 2, 'nobody is left'],
    [['--nodes', 'a', '--keys-file', join(directory, 'missing')], 2, 'Cannot read the keys file'],
    [['--nodes', 'a', '--keys-file', directory], 2, 'Cannot read the keys file'],
    [['user.rpc', '--nodes', 'a', '--key', 'k'], 2, 'Leave one of them out'],
    [['--with', 'a', '--key', 'k'], 2, 'every service'],
  ])('pick %j exits %i and says what is wrong', async (args, code, says) => {
    const table = await pick(...args);
    expect({ code: table.code, stdout: table.stdout }).toEqual({ code, stdout: '' });
    expect(table.stderr).toContain(says);
    const json = await pick(...args, '--json');
    expect({ code: json.code, stdout: json.stdout }).toEqual({ code, stdout: '' });
    expect(JSON.parse(json.stderr).error.exitCode).toBe(code);
  });

  test('a keys file that is not UTF-8: exit 2 with the line', async () => {
    const ended = await pick('--nodes', 'a', '--keys-file', file('latin1.txt', Buffer.from('ok\n\xe9\n', 'latin1')));
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Line 2 of the keys') });
  });
});

describe('over services in etcd', () => {
  let registry: DevRegistry;
  beforeAll(async () => {
    registry = await startDevRegistry();
    await registry.put({
      'user.rpc/1': '10.0.0.1:8080',
      'user.rpc/2': '10.0.0.2:8080',
      'user.rpc/again': '10.0.0.2:8080',
      'user.rpc/junk': Buffer.from([0xff, 0x1b]),
      'order.rpc/1': '10.0.1.1:8080',
    });
  });
  afterAll(() => registry.close());
  const ask = (...args: string[]) => run(['pick', ...args], { env: registry.env });

  test('picks among the addresses of a service, as over the same nodes', async () => {
    const { stdout } = await ask('user.rpc', '--key', 'user:42', '--json');
    const same = await document('--nodes', '10.0.0.1:8080,10.0.0.2:8080', '--key', 'user:42');
    const [expected] = same.picks;
    expect(JSON.parse(stdout)).toMatchObject({
      nodes: [{ address: '10.0.0.1:8080' }, { address: '10.0.0.2:8080' }],
      picks: [{ ...expected, service: 'user.rpc' }],
    });
    expect(JSON.parse(stdout).nodes.length).toBe(2);
  });

  test('without a service every service has a row', async () => {
    const { code, stdout } = await ask('--key', 'k', '-o', 'ndjson');
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect({ code, services: rows.map((row) => row.service) }).toEqual({
      code: 0,
      services: ['order.rpc', 'user.rpc'],
    });
  });

  test('one odd key in etcd keeps nobody from an answer, and many services are no noise', async () => {
    const crowded = await startDevRegistry();
    const services = Array.from({ length: 20 }, (_, i) => `s${i}.rpc`);
    await crowded.put({ 'a\u001b[31m b/1': '10.0.0.1:80', '../1': '10.0.0.1:80' });
    await crowded.put(Object.fromEntries(services.map((service) => [`${service}/1`, '10.0.0.1:80'])));
    const ended = await run(['pick', '--key', 'k', '-o', 'ndjson'], { env: crowded.env });
    await crowded.close();
    const rows = ended.stdout.trim().split('\n');
    expect({ code: ended.code, services: rows.map((row) => JSON.parse(row).service) }).toEqual({
      code: 0,
      services: services.sort(),
    });
    const said = ended.stderr.trim().split('\n');
    expect(said.map((line) => JSON.parse(line).message)).toEqual([
      expect.stringMatching(/^Warning: "\.\." is left out/),
      expect.stringMatching(/^Warning: "a\\u001b\[31m b" is left out/),
    ]);
  });

  test('a service that nobody is registered for: exit 3 and the name that was meant', async () => {
    const { code, stdout, stderr } = await ask('usr.rpc', '--key', 'k');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toContain('Did you mean user.rpc?');
  });

  test('a service whose name cannot be: exit 2', async () => {
    for (const name of ['', 'a b', '../x']) expect((await ask(name, '--key', 'k')).code).toBe(2);
  });

  test('no etcd there: exit 4', async () => {
    const { code } = await run(['pick', 'user.rpc', '--key', 'k'], { env: { LBCTL_ENDPOINTS: '127.0.0.1:1' } });
    expect(code).toBe(4);
  });
});
