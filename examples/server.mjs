import { promisify } from 'node:util';
import { loadPackageDefinition, Server, ServerCredentials } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { register } from 'lbctl';

const { greet } = loadPackageDefinition(loadSync(`${import.meta.dirname}/greet.proto`));
const server = new Server();
server.addService(greet.Greeter.service, {
  SayHello: ({ request }, reply) => reply(null, { message: `hello ${request.name}, from ${address}` }),
});
const port = await promisify(server.bindAsync).call(server, '127.0.0.1:0', ServerCredentials.createInsecure());
const address = `127.0.0.1:${port}`;

const endpoints = [process.argv[2] ?? '127.0.0.1:2379'];
const registration = await register({ endpoints }, { service: 'greet.rpc', address });
console.log(`${address} serves greet.rpc`);
process.once('SIGTERM', async () => {
  await registration.stop(); // out of etcd first: then no client starts another call here
  server.tryShutdown(() => {});
});
