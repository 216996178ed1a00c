import { Client, credentials, experimental } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { createBalancer } from '../../../src/core/balancer/policies.js';
import { type OnApplied, onAppliedOf, type Spread } from '../../../src/core/grpc/applied.js';
import { withResolverSettings } from '../../../src/core/grpc/channel-options.js';
import type { InstanceEndpoint } from '../../../src/core/grpc/endpoint.js';
import { ManagedBalancer } from '../../../src/core/grpc/policies/managed-balancer.js';
import { directSource } from '../../../src/core/grpc/resolvers/direct.js';
import { Pusher } from '../../../src/core/grpc/resolvers/pusher.js';
import { registerResolvers } from '../../../src/core/grpc/resolvers/register.js';
import { resolverOf } from '../../../src/core/grpc/resolvers/resolver.js';
import { inRotation, sameInstances } from '../../../src/core/grpc/resolvers/rotation.js';
import type { Sink } from '../../../src/core/grpc/resolvers/source.js';
import type { DirectTarget } from '../../../src/core/grpc/target.js';
import { LbctlError } from '../../../src/core/model/errors.js';
import { ClientStatistics } from '../../../src/core/stats/client-statistics.js';
import { GreetClient, type Greeter, startGreeter } from '../../support/greeters.js';
import { instance } from '../../support/instances.js';
import { KubernetesApi } from '../../support/kubernetes-api.js';
import { ManualClock } from '../../support/manual-clock.js';
import { until } from '../../support/until.js';

registerResolvers();
registerResolvers();

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});
async function greeter(): Promise<Greeter> {
  const started = await startGreeter();
  endings.push(() => started.stop());
  return started;
}
function client(...given: ConstructorParameters<typeof GreetClient>): GreetClient {
  const opened = new GreetClient(...given);
  endings.push(() => opened.close());
  return opened;
}

describe('a target given to a client', () => {
  it.each([
    ['etcd:///127.0.0.1:2379', 'the parameter "key" is missing or empty'],
    ['etcd://127.0.0.1:2379', 'no key follows the endpoints'],
    ['etcd:///127.0.0.1:2379?key=a+b', '"a b" cannot be a service name'],
    ['discov:///127.0.0.1?key=a', 'the port is missing'],
    ['direct:///127.0.0.1', 'the port is missing'],
    ['k8s://shop/greet:http', '"http" is not a port'],
  ])('%s makes it throw: %s', (target, why) => {
    expect(() => new Client(target, credentials.createInsecure())).toThrow(why);
  });

  it.each([
    ['direct:///10.0.0.1:80,10.0.0.2:80', '10.0.0.1:80'],
    ['etcd:///h:2379?key=/services/greet', '_2Fservices_2Fgreet'],
    ['etcd:///h:2379?key=greet-1.10.3', 'greet-1.10.3.service'],
    ['etcd:///h:2379?key=xn--a', 'service'],
    ['etcd://h1:2379,h2:2379/greet.rpc', 'greet.rpc'],
    ['k8s:///greet:80', 'greet.default.svc'],
  ])('%s gives calls the authority %s', (target, authority) => {
    const [, scheme = '', host = '', path = ''] = /^(.+?):\/\/(.*?)\/(.+)$/.exec(target) ?? [];
    const channel = new Client(target, credentials.createInsecure());
    endings.push(() => channel.close());
    expect(Reflect.get(channel.getChannel(), 'internalChannel')).toMatchObject({
      defaultAuthority: authority,
      target: { scheme, authority: host, path },
    });
  });
});

describe('direct', () => {
  it('calls each address of the list, each counting once', async () => {
    const [a, b] = [await greeter(), await greeter()];
    const calls = client(`direct:///${a.address},${b.address},${a.address}`);
    await calls.name({ waitForReady: true });
    await until(async () => (await calls.names()) === [a.address, b.address].sort().join(' '), 3000);
    const names = await Promise.all(Array.from({ length: 10 }, () => calls.name()));
    expect(names.filter((name) => name === a.address)).toHaveLength(5);
  });

  it('answers once, however often it is asked, and again after it was destroyed', async () => {
    const told: string[][] = [];
    const uri = { scheme: 'direct', authority: '', path: 'a:1,b:2' };
    const resolver = experimental.createResolver(uri, (endpoints) => told.push(hostsOf(endpoints)) > 0, {});
    for (let i = 0; i < 100; i++) resolver.updateResolution();
    expect(told).toEqual([]);
    await turn();
    for (let i = 0; i < 100; i++) resolver.updateResolution();
    await turn();
    expect(told).toEqual([['a:1', 'b:2']]);
    resolver.destroy();
    resolver.updateResolution();
    resolver.destroy();
    await turn();
    expect(told).toHaveLength(1);
    resolver.updateResolution();
    await turn();
    expect(told).toHaveLength(2);
    resolver.destroy();
  });
});

const turn = () => new Promise((resolve) => setImmediate(resolve));
const hostsOf = (endpoints: experimental.StatusOr<experimental.Endpoint[]>) =>
  endpoints.ok
    ? endpoints.value.map((endpoint) => experimental.endpointToString(endpoint).replace(/[[\]]/g, ''))
    : [endpoints.error.details ?? ''];

describe('what a source tells', () => {
  function opened() {
    let sink: Sink | null = null;
    let closed = 0;
    const Resolver = resolverOf<DirectTarget>(
      () => ({
        open(given) {
          sink = given;
          return () => closed++;
        },
      }),
      () => '',
    );
    const pushes: {
      at: number;
      endpoints: experimental.StatusOr<experimental.Endpoint[]>;
      note: string;
      /** What a load balancer does when it goes by this answer. */
      apply: OnApplied | undefined;
    }[] = [];
    const resolver = new Resolver(
      { scheme: 'direct', authority: '', path: 'a:1' },
      (endpoints, attributes, _config, note) =>
        pushes.push({ at: performance.now(), endpoints, note, apply: onAppliedOf(attributes) }) > 0,
      {},
    );
    resolver.updateResolution();
    endings.push(() => resolver.destroy());
    const tell = (): Sink => {
      if (sink === null) throw new Error('never opened');
      return sink;
    };
    return { resolver, pushes, tell, last: () => pushes.at(-1), closed: () => closed };
  }

  it('is told at once; then a thousand changes a second become 50, and the last one arrives', async () => {
    const { pushes, tell, last } = opened();
    const startedAt = performance.now();
    let changes = 0;
    while (performance.now() - startedAt < 1000) {
      tell().found([instance({ address: '10.0.0.1:80', weight: ++changes })], '');
      if (changes === 1) expect(pushes).toHaveLength(1);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const weight = () => {
      const endpoints = last()?.endpoints;
      return endpoints?.ok ? (endpoints.value[0] as InstanceEndpoint).instance.weight : -1;
    };
    await until(() => weight() === changes, 1000);
    expect(changes).toBeGreaterThan(200);
    expect(pushes.length).toBeLessThanOrEqual(52);
  });

  it.each([
    [{ modRevision: 9n, lease: null }, true],
    [{ metadata: { b: '2', a: '1' } }, true],
    [{ address: '10.0.0.2:80' }, false],
    [{ weight: 2 }, false],
    [{ zone: 'z' }, false],
    [{ version: '2' }, false],
    [{ metadata: { a: '1' } }, false],
    [{ metadata: { a: '1', c: '2' } }, false],
  ])('is the same to calls with %o: %s', (change, isSame) => {
    const base = { address: '10.0.0.1:80', metadata: { a: '1', b: '2' } };
    expect(sameInstances([instance(base)], [instance({ ...base, ...change })])).toBe(isSame);
  });

  it('is told only if it still differs when its turn comes', async () => {
    const clock = new ManualClock();
    const pushed: number[] = [];
    const pusher = new Pusher<number>(
      (value) => pushed.push(value),
      (a, b) => a === b,
      clock,
    );
    for (const value of [1, 2, 1]) pusher.offer(value);
    await clock.advance(1000);
    pusher.offer(1);
    expect(pushed).toEqual([1]);
    for (const value of [2, 3]) pusher.offer(value);
    expect(pushed).toEqual([1, 2]);
    await clock.advance(20);
    expect(pushed).toEqual([1, 2, 3]);
    pusher.offer(4);
    pusher.close();
    expect(clock.pending).toBe(0);
  });

  it('when there is nothing yet, a failure fails calls with its reason; later ones leave the set alone', async () => {
    const { pushes, tell, last } = opened();
    tell().failed(new LbctlError('ETCD_UNREACHABLE', 'nobody answers at 10.0.0.1:2379'));
    const details = 'direct:///a:1 could not be resolved: nobody answers at 10.0.0.1:2379';
    expect(last()?.endpoints).toMatchObject({ ok: false, error: { code: 14, details } });
    tell().found([instance({ address: '10.0.0.1:80' })], '');
    await until(() => last()?.endpoints.ok, 1000);
    tell().failed(new LbctlError('ETCD_UNREACHABLE', 'gone'));
    tell().found([], 'etcd (h:1) holds no instance of greet');
    await until(() => pushes.length === 4, 1000);
    const note = 'etcd (h:1) holds no instance of greet';
    expect(pushes.slice(2)).toMatchObject([
      { endpoints: { ok: true, value: [] }, note },
      { endpoints: { ok: false, error: { code: 14, details: note } } },
    ]);
  });

  it('is applied when the load balancer says so; what changes nothing, as soon as what it went by before is', async () => {
    const { resolver, pushes, tell, last } = opened();
    const balancer = new ManagedBalancer(createBalancer('random'));
    const spread: Spread = { policy: 'random', balancer, statistics: new ClientStatistics('random', balancer) };
    const applied: string[] = [];
    const find = (name: string, address: string) =>
      tell().found([instance({ address })], '', (by, isNews) => {
        expect(by).toBe(spread);
        applied.push(`${name} ${isNews}`);
      });
    find('1', '10.0.0.1:80');
    find('1 again', '10.0.0.1:80');
    await until(() => performance.now() - (pushes[0]?.at ?? 0) > 25, 1000);
    expect(applied).toEqual([]);
    last()?.apply?.(spread, true);
    find('1 once more', '10.0.0.1:80');
    expect(applied).toEqual(['1 true', '1 once more false']);
    find('2', '10.0.0.2:80');
    find('3', '10.0.0.3:80');
    await until(() => pushes.length === 3, 1000);
    find('3 again', '10.0.0.3:80');
    await until(() => performance.now() - (pushes[2]?.at ?? 0) > 25, 1000);
    expect(applied).toHaveLength(2);
    last()?.apply?.(spread, true);
    expect(applied.slice(2)).toEqual(['3 true']);

    // Awake again, the channel goes by what it knew; nothing that is found is applied before that is.
    resolver.destroy();
    resolver.updateResolution();
    find('3 awake', '10.0.0.3:80');
    expect(applied).toHaveLength(3);
    last()?.apply?.(spread, true);
    expect(applied.slice(3)).toEqual(['3 awake true']);
  });

  it('outlives the idleness of the channel: what was known serves again while the source is away', () => {
    const { resolver, pushes, tell, closed, last } = opened();
    tell().found([instance({ address: '10.0.0.1:80' })], '');
    resolver.destroy();
    expect(closed()).toBe(1);
    resolver.updateResolution();
    tell().failed(new LbctlError('ETCD_UNREACHABLE', 'gone'));
    expect(pushes).toHaveLength(2);
    expect(last()?.endpoints).toMatchObject({ ok: true, value: [{ instance: { address: '10.0.0.1:80' } }] });
  });
});

describe('the instances that calls may go to', () => {
  it.each([
    ['10.0.0.1:80', true],
    ['127.0.0.1:80', true],
    ['localhost:80', true],
    ['[fd00::7]:80', true],
    ['fd00::7:80', false],
    ['[::]:80', false],
    ['0.0.0.0:80', false],
    ['10.0.0.1', false],
    ['10.0.0.1:0', false],
    ['10.0.0.1:70000', false],
    ['10.0.0.1:http', false],
    ['lbctl-paused:10.0.0.1:80', false],
    ['http://10.0.0.1:80', false],
    ['', false],
  ])('%s: %s', (address, counts) => {
    expect(inRotation([instance({ address })])).toHaveLength(counts ? 1 : 0);
  });

  it('are not paused, and of two registrations of an address the newest tells its weight', () => {
    const old = instance({ key: 's/1', weight: 1, modRevision: 5n });
    const young = instance({ key: 's/2', weight: 9, modRevision: 8n });
    const paused = instance({ address: '10.0.0.2:80', admin: 'paused' });
    expect(inRotation([young, paused, old])).toEqual([young]);
    expect(inRotation([old, young])).toEqual([young]);
  });
});

describe('k8s', () => {
  async function kubernetes() {
    const api = await new KubernetesApi().start();
    endings.push(() => api.end());
    return { api, settings: withResolverSettings({ kubernetes: { kubeconfig: api.kubeconfig } }) };
  }

  it('calls the ready pods, and follows them', async () => {
    const { api, settings } = await kubernetes();
    const server = await greeter();
    const port = Number(server.address.split(':')[1]);
    const calls = client(`k8s:///greet:${port}`, settings);
    await expect(calls.name()).rejects.toThrow(/Kubernetes knows no ready pod of service greet in namespace default/);
    api.put('greet-a', { pods: [{ ip: '127.0.0.1' }] });
    expect(await calls.name({ waitForReady: true })).toBe(server.address);
    api.put('greet-a', { pods: [{ ip: '127.0.0.1', ready: false }] });
    await until(
      () =>
        calls.name().then(
          () => false,
          () => true,
        ),
      3000,
    );
    api.put('greet-b', { pods: [{ ip: '127.0.0.1', zone: 'a' }], ports: [{ port }] });
    expect(await calls.name({ waitForReady: true })).toBe(server.address);
  });

  it('says what RBAC must allow when a call fails for it', async () => {
    const { api, settings } = await kubernetes();
    api.forbidden = 'list';
    const calls = client('k8s://shop/greet:80', settings);
    await expect(calls.name()).rejects.toThrow(/k8s:\/\/shop\/greet:80 could not be resolved: .*403.*RBAC must allow/);
  });

  it('closes its watch with the client', async () => {
    const { api, settings } = await kubernetes();
    const calls = client('k8s:///greet:80', settings);
    await calls.name().catch(() => {});
    await until(() => api.watching === 1, 3000);
    calls.close();
    await until(() => api.watching === 0, 3000);
  });
});

it('a source that was closed before it told anything stays silent', async () => {
  const told: unknown[] = [];
  const sink = { found: () => told.push('found'), failed: () => told.push('failed') };
  directSource({ scheme: 'direct', addresses: ['a:1'] }).open(sink)();
  await turn();
  expect(told).toEqual([]);
});
