// Run: node --import tsx bench/calls.ts
// A unary call through our policies beside one through grpc-js's own round_robin: three servers in a process of their own,
// interleaved rounds in an order that rotates, each ratio taken within its round.
import { fork } from 'node:child_process';
import { type ChannelOptions, Client, credentials, Server, ServerCredentials } from '@grpc/grpc-js';
import { clientOptions } from '../src/core/grpc/client/client-options.js';
import { median, quantile } from './compare.js';

const path = '/bench.Echo/Echo';
const bytes = (value: Buffer): Buffer => value;
const servers = 3;
const callers = 16;
const callsARound = 250;
const rounds = 150;

async function serve(): Promise<void> {
  const method = { path, requestStream: false, responseStream: false } as const;
  const codec = {
    ...{ requestSerialize: bytes, requestDeserialize: bytes },
    ...{ responseSerialize: bytes, responseDeserialize: bytes },
  };
  const ports: number[] = [];
  for (let i = 0; i < servers; i++) {
    const server = new Server();
    server.addService(
      { Echo: { ...method, ...codec } },
      { Echo: (call: { request: Buffer }, reply: (error: null, value: Buffer) => void) => reply(null, call.request) },
    );
    const bind = (done: (port: number) => void) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
        if (error) throw error;
        done(port);
      });
    ports.push(await new Promise<number>(bind));
  }
  process.once('disconnect', () => process.exit(0));
  process.send?.(ports);
}

async function round(client: Client): Promise<{ readonly wallUs: number; readonly cpuUs: number }> {
  let left = callsARound;
  const request = Buffer.from('hello');
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const options = { deadline: Date.now() + 10_000 };
      client.makeUnaryRequest(path, bytes, bytes, request, options, (error) => (error ? reject(error) : resolve()));
    });
  const caller = async () => {
    while (left-- > 0) await one();
  };
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  await Promise.all(Array.from({ length: callers }, caller));
  const wallUs = ((performance.now() - start) * 1000) / callsARound;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { wallUs, cpuUs: (user + system) / callsARound };
}

async function compare(ports: readonly number[]): Promise<void> {
  const target = `ipv4:${ports.map((port) => `127.0.0.1:${port}`).join(',')}`;
  const builtIn: ChannelOptions = {
    'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  };
  const contenders = Object.entries({
    'grpc-js round_robin': builtIn,
    // What the machine's noise alone makes of a ratio.
    'grpc-js round_robin, again': builtIn,
    'round_robin, health: false': clientOptions({ policy: { policy: 'round_robin', health: false } }),
    round_robin: clientOptions({ policy: 'round_robin' }),
    p2c_ewma: clientOptions({ policy: 'p2c_ewma' }),
  }).map(([name, options]) => ({
    name,
    // Connections of its own for each: a shared one would be a shared queue.
    client: new Client(target, credentials.createInsecure(), { ...options, 'grpc.use_local_subchannel_pool': 1 }),
    wallUs: [] as number[],
    cpuUs: [] as number[],
  }));
  for (let i = -4; i < rounds; i++) {
    for (let j = 0; j < contenders.length; j++) {
      const contender = contenders[(i + 4 + j) % contenders.length];
      if (contender === undefined) continue;
      const { wallUs, cpuUs } = await round(contender.client);
      if (i < 0) continue;
      contender.wallUs.push(wallUs);
      contender.cpuUs.push(cpuUs);
    }
  }
  const [base] = contenders;
  if (base === undefined) return;
  console.log(
    `${callers} callers; ratios to the first. "calm": of the calmest tenth of the rounds, which a busy machine disturbs least`,
  );
  for (const { name, client, wallUs, cpuUs } of contenders) {
    const shown = (of: readonly number[], to: readonly number[]) => {
      const ratio = median(of.map((value, k) => value / (to[k] ?? Number.NaN)));
      const calm = quantile(of, 0.1);
      return `${median(of).toFixed(0)} us ${ratio.toFixed(3)}, calm ${calm.toFixed(0)} us ${(calm / quantile(to, 0.1)).toFixed(3)}`;
    };
    console.log(`${name.padEnd(28)} wall ${shown(wallUs, base.wallUs)}   cpu ${shown(cpuUs, base.cpuUs)}`);
    client.close();
  }
}

if (process.argv[2] === 'serve') await serve();
else {
  const child = fork(import.meta.filename, ['serve']);
  const ports = await new Promise<number[]>((resolve) =>
    child.once('message', (message) => resolve(message as number[])),
  );
  await compare(ports);
  child.disconnect();
}
