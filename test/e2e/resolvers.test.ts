import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Publisher } from '../../src/core/discovery/publisher.js';
import { withResolverSettings } from '../../src/core/grpc/channel-options.js';
import { registerResolvers } from '../../src/core/grpc/resolvers/register.js';
import { formatTarget } from '../../src/core/grpc/target.js';
import { open } from '../support/etcd-client.js';
import { type EtcdProcess, enableAuth, etcdctl, startEtcd } from '../support/etcd-process.js';
import { GreetClient, startGreeter } from '../support/greeters.js';
import { KubernetesApi } from '../support/kubernetes-api.js';
import { until } from '../support/until.js';

registerResolvers();

let etcd: EtcdProcess;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

let services = 0;
const newService = () => `greet${++services}.rpc`;
const hostOf = (server: EtcdProcess) => server.endpoint.replace('http://', '');
const targetOf = (key: string, server = etcd) => formatTarget({ scheme: 'etcd', hosts: [hostOf(server)], key });

async function greeter() {
  const started = await startGreeter();
  endings.push(() => started.stop());
  return started;
}
async function publish(service: string, address: string, server = etcd) {
  const owner = { host: 'test', pid: process.pid, version: '0' };
  const publisher = new Publisher(await open(server.endpoint), { service, address, owner });
  endings.push(() => publisher.stop());
  await publisher.start();
  return publisher;
}
function client(...given: ConstructorParameters<typeof GreetClient>): GreetClient {
  const opened = new GreetClient(...given);
  endings.push(() => opened.close());
  return opened;
}
const sorted = (...addresses: string[]) => addresses.sort().join(' ');

describe('calls to a service in etcd', () => {
  it.each(['etcd:///HOST?key=KEY', 'discov:///HOST?key=KEY', 'etcd://HOST/KEY'])('%s: follow it', async (form) => {
    const service = newService();
    const [a, b] = [await greeter(), await greeter()];
    const first = await publish(service, a.address);
    const calls = client(form.replace('HOST', hostOf(etcd)).replace('KEY', service));
    expect(await calls.name()).toBe(a.address);
    const second = await publish(service, b.address);
    await until(async () => (await calls.names()) === sorted(a.address, b.address), 3000);
    await first.stop();
    await until(async () => (await calls.names()) === b.address, 3000);
    await second.stop();
    const hollow = new RegExp(`etcd \\(${hostOf(etcd)}\\) holds no instance of ${service} that is in rotation`);
    const fails = () =>
      calls.name().then(
        () => false,
        (error: Error) => hollow.test(error.message),
      );
    await until(fails, 3000);
    const waiting = calls.name({ waitForReady: true });
    await publish(service, a.address);
    expect(await waiting).toBe(a.address);
  });

  it.each(['/services/greet', 'greet.2', 'greet/é', 'xn--a'])('reach a service called %s', async (service) => {
    const a = await greeter();
    await etcdctl(etcd.endpoint, 'put', `${service}/1`, a.address);
    expect(await client(targetOf(service)).name()).toBe(a.address);
  });

  it('leave out a paused instance and what cannot be dialled', async () => {
    const service = newService();
    const [a, b] = [await greeter(), await greeter()];
    const publisher = await publish(service, a.address);
    await publish(service, b.address);
    await etcdctl(etcd.endpoint, 'put', `${service}/x`, '[::]:8080');
    await etcdctl(etcd.endpoint, 'put', `${service}/y`, 'lbctl-paused:10.0.0.1:80');
    const calls = client(targetOf(service));
    await until(async () => (await calls.names()) === sorted(a.address, b.address), 3000);
    await publisher.pause();
    await until(async () => (await calls.names()) === b.address, 3000);
    await publisher.resume();
    await until(async () => (await calls.names()) === sorted(a.address, b.address), 3000);
  });

  it('go on while etcd is killed, and follow it again when it is back', async () => {
    const server = await startEtcd();
    endings.push(() => server.stop());
    const service = newService();
    const [a, b] = [await greeter(), await greeter()];
    await etcdctl(server.endpoint, 'put', `${service}/1`, a.address);
    const calls = client(targetOf(service, server));
    expect(await calls.name()).toBe(a.address);
    await server.kill();
    const startedAt = performance.now();
    while (performance.now() - startedAt < 1000) expect(await calls.name()).toBe(a.address);
    await server.restart();
    await etcdctl(server.endpoint, 'put', `${service}/2`, b.address);
    await until(async () => (await calls.names()) === sorted(a.address, b.address), 8000);
  });

  it("fail with etcd's address and the reason when it is not there at the start; those that wait succeed later", async () => {
    const server = await startEtcd();
    endings.push(() => server.stop());
    const service = newService();
    const a = await greeter();
    await etcdctl(server.endpoint, 'put', `${service}/1`, a.address);
    await server.kill();
    const calls = client(targetOf(service, server));
    const waiting = calls.name({ waitForReady: true, timeoutMs: 20_000 });
    const startedAt = performance.now();
    const failure = await calls.name({ timeoutMs: 20_000 }).catch((error: Error) => error.message);
    expect(failure).toMatch(
      new RegExp(`UNAVAILABLE.*${hostOf(server)}\\?key=${service} could not be resolved: .*refused`),
    );
    expect(performance.now() - startedAt).toBeLessThan(6000);
    await server.restart();
    expect(await waiting).toBe(a.address);
  });

  it('use the account that the client was given', async () => {
    const server = await startEtcd();
    endings.push(() => server.stop());
    const service = newService();
    const a = await greeter();
    await etcdctl(server.endpoint, 'put', `${service}/1`, a.address);
    await enableAuth(server.endpoint, { name: 'greeter', password: 'secret', prefix: `${service}/` });
    const auth = { user: 'greeter', password: 'secret' };
    const calls = client(targetOf(service, server), withResolverSettings({ etcd: { auth } }));
    expect(await calls.name()).toBe(a.address);
    const anonymous = client(targetOf(service, server));
    await expect(anonymous.name()).rejects.toThrow(/could not be resolved/);
  });

  it('wake an idle channel, which finds the service again', async () => {
    const service = newService();
    const a = await greeter();
    await publish(service, a.address);
    const calls = client(targetOf(service), { 'grpc.client_idle_timeout_ms': 1000 });
    expect(await calls.name()).toBe(a.address);
    await until(() => calls.client.getChannel().getConnectivityState(false) === 0, 5000);
    expect(await calls.name()).toBe(a.address);
  });
});

describe('a process', () => {
  const library = (name: string) => JSON.stringify(new URL(`../../src/core/grpc/${name}`, import.meta.url).href);
  /** Closes the program's standard input once `ready` has come true. */
  const run = async (program: string, ready: () => Promise<unknown> = async () => {}) => {
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
    });
    endings.push(() => child.kill('SIGKILL'));
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    const closed = once(child, 'close');
    await ready();
    child.stdin.end();
    const [code] = await closed;
    return { code, output };
  };

  it('ends by itself once its client is closed, whether etcd answers or not', async () => {
    const service = newService();
    await etcdctl(etcd.endpoint, 'put', `${service}/1`, '127.0.0.1:1');
    const program = (target: string) => `
      import { Client, credentials } from '@grpc/grpc-js';
      import { registerResolvers } from ${library('resolvers/register.ts')};
      registerResolvers();
      const client = new Client(${JSON.stringify(target)}, credentials.createInsecure());
      client.waitForReady(Date.now() + 300, (error) => {
        console.log(error ? 'not ready' : 'ready');
        client.close();
        console.log('closed');
      });`;
    for (const target of [targetOf(service), 'etcd:///127.0.0.1:1?key=greet']) {
      expect(await run(program(target))).toEqual({ code: 0, output: 'not ready\nclosed\n' });
    }
  });

  it('is not held by an idle client whose pods come from Kubernetes, as it is not by a client of grpc-js alone', async () => {
    const api = await new KubernetesApi().start();
    endings.push(() => api.end());
    const program = `
      import { Client, credentials } from '@grpc/grpc-js';
      import { withResolverSettings } from ${library('channel-options.ts')};
      import { registerResolvers } from ${library('resolvers/register.ts')};
      registerResolvers();
      const settings = withResolverSettings({ kubernetes: { kubeconfig: ${JSON.stringify(api.kubeconfig)} } });
      const client = new Client('k8s:///greet:80', credentials.createInsecure(), settings);
      client.getChannel().getConnectivityState(true);
      process.stdin.resume().on('end', () => console.log('idle'));`;
    const result = await run(program, () => until(() => api.watching === 1, 10_000, 'the watch'));
    expect(result).toEqual({ code: 0, output: 'idle\n' });
  });
});
