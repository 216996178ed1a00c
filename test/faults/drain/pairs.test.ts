/** Two operators at once, with one guard between them, on three members whose leader dies in the middle of some. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Ended, run } from '../../support/cli.js';
import { type EtcdProcess, startCluster } from '../../support/etcd-process.js';
import { openTruth, type Truth } from '../../support/etcd-truth.js';
import { rounds } from '../../support/rounds.js';
import { waitFor } from '../fleet.js';

const pairs = rounds(12, 50);
/** So many pairs at once as two cores start without waiting for each other for long. */
const atOnce = 3;
const leaderDiesIn = new Set([1, 4, 8, 12]);

let members: EtcdProcess[];
/** One of each member: that of one that lives tells. */
let truths: Truth[];
let victim: EtcdProcess | null = null;
let endpoints = '';

beforeAll(async () => {
  members = await startCluster(3);
  endpoints = members.map(({ endpoint }) => endpoint).join(',');
  truths = members.map(({ endpoint }) => openTruth(endpoint));
});
afterAll(async () => {
  for (const truth of truths) truth.close();
  await Promise.all(members.map((member) => member.stop()));
});

function truth(): Truth {
  const found = truths[members.findIndex((member) => member !== victim)];
  if (!found) throw new Error('no member lives');
  return found;
}

async function leader(): Promise<EtcdProcess> {
  for (const [index, member] of members.entries()) {
    if (await truths[index]?.isLeader().catch(() => false)) return member;
  }
  throw new Error('no leader');
}

const paused = async (service: string) =>
  (await truth().keys(`${service}/`)).filter(({ value }) => value.toString().startsWith('lbctl-paused:')).length;

async function pair(service: string): Promise<readonly Ended[]> {
  for (const id of [1, 2, 3]) await truth().put(`${service}/${id}`, `10.0.0.${id}:80`, 5000);
  const drain = (id: number) => {
    const guard = ['--min-available', '2', '--strategy', 'mask', '--verify', '0s'];
    return run(['drain', service, String(id), ...guard, '--endpoints', endpoints, '--command-timeout', '10s']);
  };
  return Promise.all([drain(1), drain(2)]);
}

test(`of two drains at once on three instances with --min-available 2 exactly one passes, ${pairs} times of ${pairs}`, async () => {
  for (let from = 0, round = 0; from < pairs; from += atOnce, round++) {
    const services = Array.from({ length: Math.min(atOnce, pairs - from) }, (_, i) => `pair-${from + i}`);
    const running = Promise.all(services.map(pair));
    if (leaderDiesIn.has(round)) {
      const leading = await leader();
      // When the first of them have written, or are about to.
      const first = services[0] ?? '';
      await waitFor('a drain to write', 30_000, async () => (await truth().keys(`lbctl/v1/guard/${first}`)).length > 0);
      victim = leading;
      await leading.kill();
    }
    for (const [index, ends] of (await running).entries()) {
      const why = ends.map(({ stderr }) => stderr).join('\n');
      expect(ends.map(({ code }) => code).sort(), why).toEqual([0, 5]);
      expect(await paused(services[index] ?? '')).toBe(1);
    }
    if (victim) {
      await victim.restart();
      await truth().healthy();
      victim = null;
    }
  }
}, 240_000);
