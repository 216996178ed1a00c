// A gRPC client of the built library as a process of its own, for tests that look at its observer record and kill it.
// Arguments: one JSON object {target, settings?, options?, rps?}. First line on stdout once a call was answered: {"ready": true}.
// Then each line on stdin is a command: {"do": "counts"} is answered by {"calls", "failures", "last"}; {"do": "close"} stops
// calling, waits for the calls in flight and closes the client: nothing else ends this process.
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { clientOptions } from '../../dist/index.js';

const { target, settings = { policy: 'round_robin' }, options = {}, rps = 0 } = JSON.parse(process.argv[2] ?? '{}');
const { Say } = loadSync(fileURLToPath(new URL('../fixtures/echo.proto', import.meta.url)))['test.Echo'];
const client = new Client(target, credentials.createInsecure(), { ...clientOptions(settings), ...options });

const counts = { calls: 0, failures: 0, last: '' };
const call = () =>
  new Promise((resolve) => {
    counts.calls++;
    const given = [Say.path, Say.requestSerialize, Say.responseDeserialize, { text: 'hello' }];
    const waiting = new Metadata({ waitForReady: counts.calls === 1 });
    client.makeUnaryRequest(...given, waiting, { deadline: Date.now() + 20_000 }, (error) => {
      if (error) Object.assign(counts, { failures: counts.failures + 1, last: error.message });
      resolve();
    });
  });

const open = new Set();
const track = (promise) => {
  open.add(promise);
  promise.then(() => open.delete(promise));
};
await call();
process.stdout.write('{"ready":true}\n');
const ticker = rps > 0 ? setInterval(() => track(call()), 1000 / rps) : undefined;

const input = createInterface({ input: process.stdin });
for await (const line of input) {
  const command = JSON.parse(line);
  if (command.do === 'call') await call();
  if (command.do === 'counts' || command.do === 'call') process.stdout.write(`${JSON.stringify(counts)}\n`);
  if (command.do === 'close') break;
}
clearInterval(ticker);
await Promise.all(open);
client.close();
input.close();
process.stdin.destroy();
