import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FollowTiming, followEndpoints, type KubernetesService } from '../../../src/core/k8s/endpoints.js';
import type { LbctlError } from '../../../src/core/model/errors.js';
import { KubernetesApi } from '../../support/kubernetes-api.js';
import { until } from '../../support/until.js';

let api: KubernetesApi;
const closers: (() => void)[] = [];
beforeEach(async () => {
  api = await new KubernetesApi().start();
});
afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await api.end();
});

function follow(service: Partial<KubernetesService> = {}, timing: Partial<FollowTiming> = {}) {
  const told: string[][] = [];
  const errors: LbctlError[] = [];
  const notes: string[] = [];
  const close = followEndpoints(
    { namespace: 'default', service: 'greet', port: null, ...service },
    {
      pods: (pods, ifEmpty) => {
        told.push(pods.map((pod) => pod.address));
        notes.push(ifEmpty);
      },
      failed: (error) => errors.push(error),
    },
    { kubeconfig: api.kubeconfig },
    timing,
  );
  closers.push(close);
  const now = () => told.at(-1)?.join(' ') ?? 'nothing told';
  const becomes = (addresses: string) =>
    until(() => now() === addresses, 3000, `"${addresses}"`).catch((error: unknown) => {
      throw new Error(`${error}; it is "${now()}"; errors: ${errors.join()}`);
    });
  return { told, errors, notes, close, now, becomes };
}

const watching = () => until(() => api.watching === 1, 3000, 'a watch');
const lists = () => api.requests.filter((request) => request === 'list').length;

describe('the pods of a service', () => {
  it('are those of all its slices; a slice that changes or goes takes only its own along', async () => {
    api.put('greet-a', { pods: [{ ip: '10.1.0.1' }, { ip: '10.1.0.2' }] });
    api.put('greet-b', { pods: [{ ip: '10.1.0.3' }] });
    api.put('other', { service: 'other', pods: [{ ip: '10.9.9.9' }] });
    api.put('greet-a', { namespace: 'elsewhere', pods: [{ ip: '10.8.8.8' }] });
    const { becomes } = follow();
    await becomes('10.1.0.1:8080 10.1.0.2:8080 10.1.0.3:8080');
    await watching();
    api.put('greet-a', { pods: [{ ip: '10.1.0.2' }, { ip: '10.1.0.4' }] });
    await becomes('10.1.0.2:8080 10.1.0.3:8080 10.1.0.4:8080');
    api.delete('greet-a');
    await becomes('10.1.0.3:8080');
    api.put('greet-b', { pods: null });
    await becomes('');
    api.put('greet-c', { pods: [{ ip: '10.1.0.5' }] });
    await becomes('10.1.0.5:8080');
    expect(lists()).toBe(1);
  });

  it('are found again after a 410, told in the stream or as the answer', async () => {
    api.put('greet-a', { pods: [{ ip: '10.1.0.1' }] });
    const { becomes, errors } = follow();
    await watching();
    api.put('greet-a', { pods: [{ ip: '10.1.0.2' }] });
    api.compact({ tell: true });
    api.put('greet-b', { pods: [{ ip: '10.1.0.3' }] });
    await becomes('10.1.0.2:8080 10.1.0.3:8080');
    await watching();
    expect(lists()).toBe(2);

    const stopped = api.stop();
    api.delete('greet-a');
    api.compact();
    await stopped;
    await api.start();
    await becomes('10.1.0.3:8080');
    expect(lists()).toBe(3);
    expect(errors.filter((error) => error.message.includes('410'))).toEqual([]);
  });

  it('need no second list when the connection drops, though what happened meanwhile arrives', async () => {
    api.put('greet-a', { pods: [{ ip: '10.1.0.1' }] });
    const { becomes, told } = follow();
    await watching();
    const stopped = api.stop();
    api.put('greet-a', { pods: [{ ip: '10.1.0.7' }] });
    await stopped;
    expect(told.at(-1)).toEqual(['10.1.0.1:8080']);
    await api.start();
    await becomes('10.1.0.7:8080');
    expect(lists()).toBe(1);
  });

  it('are watched from the last bookmark, so that a quiet service needs no list after history is gone', async () => {
    api.put('greet-a', { pods: [{ ip: '10.1.0.1' }] });
    const { becomes, told } = follow();
    await watching();
    api.compact();
    api.bookmark();
    api.endWatches();
    await until(() => api.requests.includes(`watch ${api.version}`), 3000);
    api.put('greet-a', { pods: [{ ip: '10.1.0.2' }] });
    await becomes('10.1.0.2:8080');
    expect(lists()).toBe(1);
    expect(told).toHaveLength(2);
  });

  it('stay when a watch has gone silent, and are watched anew', async () => {
    api.put('greet-a', { pods: [{ ip: '10.1.0.1' }] });
    api.ignoresTimeouts = true;
    const { becomes, told, errors } = follow({}, { watchSeconds: 1, graceMs: 100, rng: () => 0.4 });
    await watching();
    await until(() => api.requests.filter((request) => request.startsWith('watch')).length === 2, 3000);
    expect(errors.map(String)).toEqual([expect.stringContaining('it is silent')]);
    expect(told).toEqual([['10.1.0.1:8080']]);
    api.put('greet-a', { pods: [{ ip: '10.1.0.2' }] });
    await becomes('10.1.0.2:8080');
  });

  it('are still watched after the server ended the watch as asked, and that is no failure', async () => {
    api.put('greet-a', { pods: [{ ip: '10.1.0.1' }] });
    const { becomes, errors } = follow({}, { watchSeconds: 1, rng: () => 0.4 });
    await until(() => api.requests.filter((request) => request.startsWith('watch')).length === 3, 5000);
    api.put('greet-a', { pods: [{ ip: '10.1.0.2' }] });
    await becomes('10.1.0.2:8080');
    expect(errors).toEqual([]);
    expect(lists()).toBe(1);
  });
});

describe('an API server that refuses', () => {
  it.each(['list', 'watch'] as const)('a forbidden %s names the verb, the resource and the namespace', async (verb) => {
    api.forbidden = verb;
    api.put('greet-a', { namespace: 'shop', pods: [{ ip: '10.1.0.1' }] });
    const { errors, told } = follow({ namespace: 'shop' });
    await until(() => errors.length > 0, 3000);
    expect(errors[0]?.message).toMatch(
      new RegExp(
        `refused to ${verb} endpointslices\\.discovery\\.k8s\\.io in namespace shop \\(403: .*User "greeter".*\\); ` +
          'RBAC must allow this account the verbs list and watch on endpointslices\\.discovery\\.k8s\\.io in namespace shop',
      ),
    );
    expect(told).toEqual(verb === 'list' ? [] : [['10.1.0.1:8080']]);
  });

  it('is answered with the new token once the old one has been rotated away', async () => {
    api.rotate('first');
    api.put('greet-a', { pods: [{ ip: '10.1.0.1' }] });
    const { becomes, errors } = follow();
    await becomes('10.1.0.1:8080');
    await watching();
    api.rotate('second');
    api.drop();
    await until(() => errors.some((error) => error.message.includes('401')), 3000);
    await watching();
    api.put('greet-a', { pods: [{ ip: '10.1.0.2' }] });
    await becomes('10.1.0.2:8080');
  });

  it('that is not there is named, and found when it appears', async () => {
    const kubeconfig = api.kubeconfig;
    await api.stop();
    api.put('greet-a', { pods: [{ ip: '10.1.0.1' }] });
    const { errors, becomes } = follow();
    await until(() => errors.length > 0, 3000);
    expect(kubeconfig).not.toBe('');
    expect(errors[0]).toMatchObject({ code: 'K8S_UNREACHABLE' });
    expect(errors[0]?.message).toMatch(/^Could not list .* at http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/);
    await api.start();
    await becomes('10.1.0.1:8080');
  });

  it('that never answers is given up in time', async () => {
    api.isSilent = true;
    const { errors, becomes } = follow({}, { answerWithinMs: 100 });
    await until(() => errors.length > 0, 3000);
    expect(errors[0]?.message).toContain('it is silent');
    api.isSilent = false;
    await becomes('');
  });

  it('a kubeconfig that is not there is said by name', async () => {
    const errors: LbctlError[] = [];
    const handlers = { pods: () => {}, failed: (error: LbctlError) => errors.push(error) };
    closers.push(
      followEndpoints({ namespace: 'default', service: 'greet', port: null }, handlers, {
        kubeconfig: '/no/such/config',
      }),
    );
    await until(() => errors.length > 0, 3000);
    expect(errors[0]?.message).toContain('/no/such/config');
  });
});

it('nothing is asked and nothing told after it was closed', async () => {
  api.put('greet-a', { pods: [{ ip: '10.1.0.1' }] });
  const { close, told, becomes } = follow();
  await becomes('10.1.0.1:8080');
  await watching();
  const asked = api.requests.length;
  close();
  await until(() => api.watching === 0, 3000);
  api.put('greet-a', { pods: [] });
  const other = follow();
  await other.becomes('');
  expect(told).toHaveLength(1);
  expect(api.requests.slice(asked).filter((request) => request === 'list')).toHaveLength(1);
});
