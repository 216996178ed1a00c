// A gRPC server as a process of its own, for tests that kill it. Arguments: one JSON object (see grpc-server-process.ts).
// First line on stdout: {"address"}. Then each line on stdin is a command, answered by one line:
// {"do": "behave", "latencyMs", "code"} -> {"ok": true}; {"do": "counts"} -> {"calls", "times"}; {"do": "stop"} withdraws and ends.
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';

const {
  port = 0,
  latencyMs = 0,
  code = 0,
  health = 'SERVING',
  reflection = false,
  register,
} = JSON.parse(process.argv[2] ?? '{}');
const behaviour = { latencyMs, code, health };
/** Milliseconds since the epoch at which each call arrived. */
let times = [];

const proto = loadSync(fileURLToPath(new URL('../fixtures/echo.proto', import.meta.url)));
const healthDefinition = {
  Check: {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: (value) => value,
    requestDeserialize: (value) => value,
    responseSerialize: (value) => value,
    responseDeserialize: (value) => value,
  },
};
const statuses = { UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2 };

function say(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function answer(callback, response) {
  times.push(Date.now());
  const { latencyMs: ms, code: failure } = behaviour;
  const reply = () => {
    if (failure === 0) callback(null, response());
    else callback({ code: failure, details: `told to answer ${status[failure]}` });
  };
  if (ms > 0) setTimeout(reply, ms);
  else reply();
}

const server = new Server();
server.addService(proto['test.Echo'], {
  Say: (call, callback) => answer(callback, () => ({ text: call.request.text, server: address })),
  Stream: (call) => call.end(),
});
if (health !== null) {
  server.addService(healthDefinition, {
    Check: (_, callback) => answer(callback, () => Buffer.from([8, statuses[behaviour.health]])),
  });
}
if (reflection) new ReflectionService(proto).addToServer(server);

const bound = await new Promise((resolve, reject) => {
  server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, actual) =>
    error ? reject(error) : resolve(actual),
  );
});
const address = `127.0.0.1:${bound}`;

let withdraw = async () => {};
if (register) {
  const { connect, Publisher } = await import('../../dist/index.js');
  const etcd = await connect({ endpoints: [register.etcd] });
  const publisher = new Publisher(etcd, {
    service: register.service,
    address,
    owner: { host: 'test', pid: process.pid, version: '0' },
    ...register.options,
  });
  await publisher.start();
  withdraw = async () => {
    await publisher.stop();
    await etcd.close();
  };
}
say({ address });

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  if (command.do === 'behave') {
    Object.assign(behaviour, command);
    say({ ok: true });
  } else if (command.do === 'counts') {
    say({ calls: times.length, times });
    if (command.reset) times = [];
  } else if (command.do === 'stop') break;
}
await withdraw();
server.forceShutdown();
process.exit(0);
