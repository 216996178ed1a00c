import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkAddress, undialable } from '../../../src/core/dialects/address.js';
import { codecs, detect } from '../../../src/core/dialects/detect.js';
import { checkServiceName, readValue, servicePrefixes, splitKey } from '../../../src/core/dialects/layout.js';
import { dialectNames } from '../../../src/core/model/instance.js';

const bytes = (text: string) => Buffer.from(text);
const registration = fc.record({
  service: fc.stringMatching(/^[a-z/.]{1,12}[a-z]$/),
  id: fc.stringMatching(/^\d{1,19}$/),
  address: fc.oneof(
    fc.tuple(fc.ipV4(), fc.integer({ min: 1, max: 65_535 })).map(([ip, port]) => `${ip}:${port}`),
    fc.tuple(fc.ipV6(), fc.integer({ min: 1, max: 65_535 })).map(([ip, port]) => `[${ip}]:${port}`),
  ),
  weight: fc.integer({ min: 0, max: 1000 }),
  zone: fc.stringMatching(/^[a-z]{0,5}$/),
  version: fc.stringMatching(/^[a-z]{0,5}$/),
  metadata: fc.dictionary(fc.stringMatching(/^x[a-z]{0,5}$/), fc.string()),
});

describe('layouts', () => {
  it('recognises by its value what each layout wrote, and reads back all it can hold', () => {
    fc.assert(
      fc.property(registration, fc.constantFrom(...dialectNames), (given, dialect) => {
        const found = detect(bytes(codecs[dialect].encode(given)));
        expect(found?.dialect).toBe(dialect);
        expect(found?.decoded.address).toBe(given.address);
        if (dialect === 'gozero') return;
        expect(found?.decoded.weight).toBe(given.weight);
        expect(found?.decoded.zone ?? '').toBe(given.zone);
        expect(found?.decoded.version ?? '').toBe(given.version);
        expect(found?.decoded.metadata).toEqual(given.metadata);
      }),
    );
  });

  it('reads the records of the real systems', () => {
    const kratos = `{"id":"8a3c","name":"greet","version":"v1","metadata":{"weight":"5"},"endpoints":["http://10.0.0.1:8000?isSecure=false","grpc://10.0.0.1:9000?isSecure=false"]}`;
    expect(detect(bytes(kratos))).toMatchObject({
      dialect: 'kratos',
      decoded: { address: '10.0.0.1:9000', weight: 5 },
    });
    expect(
      detect(bytes('{"id":"8","name":"g","version":"","metadata":null,"endpoints":["grpc://h:1"]}')),
    ).toMatchObject({
      dialect: 'kratos',
      decoded: { address: 'h:1', metadata: {} },
    });
    expect(
      detect(bytes('{"instanceid":"a","NAME":"user","address":"10.0.0.2","port":81,"weight":3,"Rack":"r1"}')),
    ).toEqual({
      dialect: 'json',
      decoded: { address: '10.0.0.2:81', weight: 3, name: 'user', metadata: { Rack: 'r1' } },
    });
    expect(detect(bytes('{"Op":0,"Addr":"10.0.0.3:82","Metadata":"blue"}'))).toEqual({
      dialect: 'endpoint',
      decoded: { address: '10.0.0.3:82', metadata: { Metadata: 'blue' } },
    });
    expect(detect(bytes('[fd00::7]:8080'))?.decoded.address).toBe('[fd00::7]:8080');
  });

  it('takes nothing for an instance that is none, and never throws', () => {
    const none = [
      '',
      'true',
      'hello world',
      '{',
      '{}',
      '[]',
      '{"Address":"h"}',
      '{"Addr":5}',
      'null',
      'http://h:1',
      'v1.2',
    ];
    for (const text of none) expect(detect(bytes(text)), text).toBeNull();
    expect(detect(Buffer.from([0xff, 0xfe, 0x3a, 0x31]))).toBeNull();
    expect(detect(Buffer.alloc(1024 * 1024, 'a'))).toBeNull();
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (value) => void detect(value)));
    fc.assert(fc.property(fc.json(), (text) => void detect(bytes(text))));
  });

  it('keeps a hostile metadata key as data', () => {
    const found = detect(bytes('{"Address":"h","Port":1,"__proto__":"x","Metadata":{"constructor":"y"}}'));
    expect(Object.keys(found?.decoded.metadata ?? {}).sort()).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it('looks for a service in every layout, once each place', () => {
    expect(servicePrefixes('user')).toEqual(['user/', '/services/user/', '/microservices/user/']);
    expect(servicePrefixes('user', { dialect: 'json', prefixes: { json: '/reg/' } })).toEqual(['/reg/user/']);
  });

  it('does not mix up services of two layouts that share a place', () => {
    const plain = bytes('10.0.0.1:80');
    expect(readValue(plain, 'user', '/services/user/')).toBeNull();
    expect(readValue(plain, '/services/user', '/services/user/')).toMatchObject({ dialect: 'gozero' });
    const foreign = bytes('{"id":"1","name":"other","version":"","metadata":{},"endpoints":["grpc://h:1"]}');
    expect(readValue(foreign, 'greet', '/microservices/greet/')).toEqual({ dialect: 'unknown', decoded: null });
    expect(readValue(bytes('\x1b[31m'), 'user', 'user/')).toEqual({ dialect: 'unknown', decoded: null });
    expect(readValue(plain, 'user', 'user/', { dialect: 'endpoint' })).toEqual({ dialect: 'unknown', decoded: null });
  });

  it('names the service of a key', () => {
    expect(splitKey('/services/user/7', 'json')).toEqual({ service: 'user', id: '7' });
    expect(splitKey('/services/user/7', 'gozero')).toEqual({ service: '/services/user', id: '7' });
    expect(splitKey('user.rpc/canary/1', 'gozero')).toEqual({ service: 'user.rpc/canary', id: '1' });
    expect(splitKey('lonely', 'gozero')).toBeNull();
  });

  it('refuses names that cannot be', () => {
    for (const name of ['', 'a b', 'a\u0007', 'a/../b', '..', 'user/'])
      expect(() => checkServiceName(name), name).toThrow();
    for (const name of ['user.rpc', '/services/user', 'a..b']) checkServiceName(name);
  });
});

describe('addresses', () => {
  it('says which cannot be dialled', () => {
    for (const bad of [
      '[::]:80',
      '0.0.0.0:80',
      ':80',
      'fd00::7:80',
      '10.0.0.1',
      '127.0.0.1:80',
      '[::1]:80',
      'h:0',
      'h:70000',
    ])
      expect(undialable(bad), bad).not.toBeNull();
    for (const good of ['10.0.0.1:80', '[fd00::7]:80', 'host.example:65535']) expect(undialable(good), good).toBeNull();
  });

  it('refuses to register those that make no sense', () => {
    for (const bad of ['10.0.0.1', 'h:0', 'h:70000', ':80', 'fd00::7:80', 'a b:1', 'h:x', '', 'h/x:1'])
      expect(() => checkAddress(bad), bad).toThrow(/cannot be an instance/);
    for (const good of ['127.0.0.1:80', '[fd00::7]:80']) checkAddress(good);
  });
});
