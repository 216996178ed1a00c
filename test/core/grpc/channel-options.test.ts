import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { clientOptions } from '../../../src/core/grpc/client/client-options.js';

it('the account of etcd shows in no print of the options', () => {
  const options = clientOptions({ policy: 'random', etcd: { auth: { user: 'ann', password: 'open sesame' } } });
  // What GRPC_TRACE=channel and console.log do.
  for (const print of [JSON.stringify(options), inspect(options, { depth: 9 })]) expect(print).not.toContain('sesame');
});
