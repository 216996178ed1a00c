import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyFromBytes } from '../../../src/core/etcd/key-text.js';
import { formatTarget, parseTarget, serviceNameOf, type Target } from '../../../src/core/grpc/target.js';
import { messageOf } from '../../../src/core/model/errors.js';

const port = fc.integer({ min: 1, max: 65_535 });
const host = fc.oneof(
  fc.ipV4(),
  fc
    .ipV6()
    .filter((address) => !address.includes('.'))
    .map((address) => `[${address}]`),
  fc.stringMatching(/^[a-z][a-z0-9-]{0,10}(\.[a-z0-9]{1,5})?$/),
);
const hostPorts = fc.array(
  fc.tuple(host, port).map(([name, number]) => `${name}:${number}`),
  { minLength: 1, maxLength: 4 },
);
const keyText = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.string({ unit: fc.constantFrom(...`%+ /?&=#;*!'()~._-é🙂`), minLength: 1 }),
  fc.uint8Array({ minLength: 1 }).map((bytes) => keyFromBytes(Buffer.from(bytes))),
);
const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
const target: fc.Arbitrary<Target> = fc.oneof(
  fc.record({ scheme: fc.constant('direct' as const), addresses: hostPorts }),
  fc.record({ scheme: fc.constantFrom('etcd' as const, 'discov' as const), hosts: hostPorts, key: keyText }),
  fc.record({ scheme: fc.constant('k8s' as const), namespace: label, service: label, port: fc.option(port) }),
);

describe('a target', () => {
  it('that was written is read back the same, whatever its key', () => {
    fc.assert(
      fc.property(target, (given) => {
        expect(parseTarget(formatTarget(given))).toEqual(given);
      }),
      { numRuns: 1000 },
    );
  });

  it('in the legacy form is the same as in the new one', () => {
    const key = fc.stringMatching(/^[a-z0-9.+-]+(\/[a-z0-9.]+){0,2}$/);
    fc.assert(
      fc.property(hostPorts, key, (hosts, name) => {
        const legacy = parseTarget(`etcd://${hosts.join(',')}/${name}`);
        expect(legacy).toEqual(parseTarget(formatTarget({ scheme: 'etcd', hosts, key: name })));
      }),
    );
  });

  it('has its key escaped as Go does it', () => {
    const written = (key: string) => formatTarget({ scheme: 'etcd', hosts: ['h:1'], key }).split('key=')[1];
    expect(written("/services/a b*!'()~é")).toBe('%2Fservices%2Fa+b%2A%21%27%28%29~%C3%A9');
    expect(written('a-z_A.Z09')).toBe('a-z_A.Z09');
    expect(written('%+&=?#;\u{1f642}')).toBe('%25%2B%26%3D%3F%23%3B%F0%9F%99%82');
  });
});

const etcd = (hosts: string[], key: string) => ({ scheme: 'etcd', hosts, key });
const direct = (...addresses: string[]) => ({ scheme: 'direct', addresses });
const k8s = (namespace: string, service: string, port: number | null) => ({ scheme: 'k8s', namespace, service, port });

describe('reading a target', () => {
  it.each([
    ['direct:///a:1,b:2', direct('a:1', 'b:2')],
    ['direct:///a:1,,b:2,', direct('a:1', 'b:2')],
    ['direct://ignored/a:1', direct('a:1')],
    ['direct:///[fd00::7]:8080', direct('[fd00::7]:8080')],
    ['etcd:///h1:2379,h2:2379?key=user.rpc', etcd(['h1:2379', 'h2:2379'], 'user.rpc')],
    ['discov:///h1:2379?key=user.rpc', { ...etcd(['h1:2379'], 'user.rpc'), scheme: 'discov' }],
    ['etcd:////h1:2379/?key=user.rpc', etcd(['h1:2379'], 'user.rpc')],
    ['etcd:///h1:2379?key=%2Fservices%2Fuser', etcd(['h1:2379'], '/services/user')],
    ['etcd:///h1:2379?key=/services/user', etcd(['h1:2379'], '/services/user')],
    ['etcd:///h1:2379?key=a+b%20c%2Bd', etcd(['h1:2379'], 'a b c+d')],
    ['etcd:///h1:2379?key=a&key=b', etcd(['h1:2379'], 'a')],
    ['etcd:///h1:2379?other=%zz&k%65y=a=b', etcd(['h1:2379'], 'a=b')],
    ['etcd:///h1:2379?key=%ff', etcd(['h1:2379'], '\udcff')],
    ['etcd://h1:2379,h2:2379/user.rpc', etcd(['h1:2379', 'h2:2379'], 'user.rpc')],
    ['etcd://h1:2379//services/user/', etcd(['h1:2379'], 'services/user')],
    ['etcd://h1:2379/a%20b+c', etcd(['h1:2379'], 'a b+c')],
    ['etcd://h1:2379/user.rpc?key=other', etcd(['h1:2379'], 'user.rpc')],
    ['k8s://shop/greet:8080', k8s('shop', 'greet', 8080)],
    ['k8s://shop/greet', k8s('shop', 'greet', null)],
    ['k8s:///greet:80', k8s('default', 'greet', 80)],
  ])('%s', (text, expected) => {
    expect(parseTarget(text)).toEqual(expected);
  });

  it.each([
    ['', 'does not start with a scheme'],
    ['127.0.0.1:8080', 'does not start with a scheme'],
    ['etcd:/h1:2379?key=a', 'does not start with a scheme'],
    ['ectd:///h1:2379?key=a', 'the scheme "ectd" is not known'],
    ['constructor:///h1:2379', 'the scheme "constructor" is not known'],
    ['etcd:///h1:2379', 'the parameter "key" is missing or empty'],
    ['etcd:///h1:2379?kye=a', 'the parameter "key" is missing or empty'],
    ['etcd:///h1:2379?key=', 'the parameter "key" is missing or empty'],
    ['etcd:///h1:2379?key', 'the parameter "key" is missing or empty'],
    ['etcd:///?key=a', 'it names no etcd endpoint'],
    ['etcd:///,,?key=a', 'it names no etcd endpoint'],
    ['etcd:///h1?key=a', 'the port is missing'],
    ['etcd:///h1:0?key=a', 'is not an etcd endpoint'],
    ['etcd:///h1:2379?key=100%', 'a % in its key'],
    ['etcd:///h1:2379?key=%g0', 'a % in its key'],
    ['etcd:///h1:2379?key=a;b', 'a ; in its key must be written %3B'],
    ['etcd:///h1:2379?key=a#b', 'a # in it must be written %23'],
    ['etcd://h1:2379', 'no key follows the endpoints'],
    ['etcd://h1:2379/', 'no key follows the endpoints'],
    ['etcd://h1:2379?key=a', 'no key follows the endpoints'],
    ['etcd://h1:2379/a%2', 'a % in its key'],
    ['direct:///', 'it names no address'],
    ['direct://a:1', 'it names no address'],
    ['direct:///a', 'the port is missing'],
    ['direct:///fd00::7:80', 'needs brackets'],
    ['direct:///a:1, b:2', 'it contains blanks'],
    ['direct:///a:1?x=y', 'it takes no parameters'],
    ['k8s://shop/', 'it names no service'],
    ['k8s://shop', 'it names no service'],
    ['k8s://shop/greet:', 'no port follows the colon'],
    ['k8s://shop/greet:http', '"http" is not a port'],
    ['k8s://shop/greet:0', '"0" is not a port'],
    ['k8s://shop/greet:70000', '"70000" is not a port'],
    ['k8s://Shop/greet', '"Shop" cannot be a namespace'],
    ['k8s://shop/a/b', '"a/b" cannot be a service'],
    ['k8s://shop/greet?port=1', 'it takes no parameters'],
  ])('%s is refused: %s', (text, why) => {
    let message = '';
    expect(() => {
      try {
        parseTarget(text);
      } catch (error) {
        message = messageOf(error);
        throw error;
      }
    }).toThrow(expect.objectContaining({ code: 'USAGE' }));
    expect(message).toContain(why);
    const example = / A good one is (\S+)$/.exec(message)?.[1] ?? '';
    expect(formatTarget(parseTarget(example))).toBe(example);
  });
});

it('has a name that does not change with its instances', () => {
  const names = ['etcd:///a:1?key=greet.rpc', 'k8s://shop/greet:80', 'direct:///a:1,b:2', 'direct:///c:3'].map((text) =>
    serviceNameOf(parseTarget(text)),
  );
  expect(names).toEqual(['greet.rpc', 'shop/greet', 'direct', 'direct']);
});
