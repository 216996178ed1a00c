/**
 * A program of a user of the built library: one Subscriber, and with `--lease` a lease of its own. It prints each set of
 * addresses as a JSON line, and on SIGTERM closes and leaves the end of the process to Node: what is left open keeps it.
 */
import { connect, Subscriber } from '../../dist/index.js';

const [service = '', endpoints = '', lease] = process.argv.slice(2);
const etcd = await connect({ endpoints: endpoints.split(',') });
const subscriber = new Subscriber(etcd, service);
await subscriber.start();
if (lease === '--lease') await etcd.holdLease(10, { lost: () => {} });

let last = '';
const tell = () => {
  const line = JSON.stringify({ isStale: subscriber.staleForMs !== null, addresses: subscriber.addresses() });
  if (line !== last) process.stdout.write(`${line}\n`);
  last = line;
};
subscriber.onChange(tell);
const ticker = setInterval(tell, 50);
process.once('SIGTERM', async () => {
  clearInterval(ticker);
  if (lease !== '--lease') await subscriber.close();
  // With a lease the watch is left open too: closing the connection has to end both.
  await etcd.close();
});
