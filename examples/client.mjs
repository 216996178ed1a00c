import { promisify } from 'node:util';
import { credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { clientOptions } from 'lbctl';

const { greet } = loadPackageDefinition(loadSync(`${import.meta.dirname}/greet.proto`));
const target = process.argv[2] ?? 'etcd:///127.0.0.1:2379?key=greet.rpc';
const options = clientOptions({ policy: 'p2c_ewma', retry: { methods: ['greet.Greeter/SayHello'] } });
const client = new greet.Greeter(target, credentials.createInsecure(), options);

const sayHello = promisify(client.SayHello).bind(client);
for (let i = 1; i <= 10; i++) {
  const { message } = await sayHello({ name: `ann ${i}` }, { deadline: Date.now() + 2000 });
  console.log(message);
}
client.close();
