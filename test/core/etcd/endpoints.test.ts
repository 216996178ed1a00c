import { expect, test } from 'vitest';
import { connectionKey, parseEndpoint, parseEndpoints, urlOf } from '../../../src/core/etcd/endpoints.js';

test.each([
  ['10.0.0.1:2379', 'http://10.0.0.1:2379'],
  ['http://Etcd.Example:2379/', 'http://etcd.example:2379'],
  ['https://etcd:2379', 'https://etcd:2379'],
  ['[fd00::7]:2379', 'http://[fd00::7]:2379'],
  [' etcd_1:02379 ', 'http://etcd_1:2379'],
])('%s is read as %s', (text, url) => {
  expect(urlOf(parseEndpoint(text, false))).toBe(url);
});

test('without a scheme, TLS settings make the endpoint secure; with one, the scheme decides', () => {
  expect(parseEndpoint('e:1', true).secure).toBe(true);
  expect(parseEndpoint('http://e:1', true).secure).toBe(false);
});

test.each([
  ['localhost', 'the port is missing'],
  ['http://localhost', 'the port is missing'],
  ['[::1]', 'the port is missing'],
  ['::1', 'needs brackets'],
  ['fd00::7:2379', 'needs brackets'],
  ['ftp://e:2379', 'the scheme'],
  ['e:0', 'cannot be read'],
  ['e:70000', 'cannot be read'],
  ['e:port', 'cannot be read'],
  [':2379', 'cannot be read'],
  ['e:1/path', 'cannot be read'],
  ['user@e:1', 'cannot be read'],
  ['a:1,b:2', 'cannot be read'],
])('%s is refused: %s', (text, reason) => {
  expect(() => parseEndpoint(text, false)).toThrow(
    expect.objectContaining({ code: 'USAGE', message: expect.stringContaining(reason) }),
  );
});

test('an empty list is refused', () => {
  expect(() => parseEndpoints({ endpoints: ['', ' '] })).toThrow(expect.objectContaining({ code: 'USAGE' }));
});

test('order and repetition of endpoints make no other connection; account, TLS and scheme do', () => {
  const key = connectionKey({ endpoints: ['b:2', 'a:1', 'b:2'] });
  expect(connectionKey({ endpoints: ['http://a:1', 'b:2'] })).toBe(key);
  const others = [
    connectionKey({ endpoints: ['a:1'] }),
    connectionKey({ endpoints: ['https://a:1', 'b:2'] }),
    connectionKey({ endpoints: ['a:1', 'b:2'], auth: { user: 'u', password: 'p' } }),
    connectionKey({ endpoints: ['a:1', 'b:2'], auth: { user: 'up', password: '' } }),
    connectionKey({ endpoints: ['http://a:1', 'http://b:2'], tls: { skipVerify: true } }),
  ];
  expect(new Set([key, ...others]).size).toBe(6);
});
