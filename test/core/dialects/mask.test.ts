import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codecs, detect } from '../../../src/core/dialects/detect.js';
import { maskable, maskValue, unmaskValue } from '../../../src/core/dialects/mask.js';

const bytes = (text: string) => Buffer.from(text);

describe('masks', () => {
  it('are what discovery.md lays down, byte for byte', () => {
    expect(maskValue('gozero', '10.0.0.1:80')).toBe('lbctl-paused:10.0.0.1:80');
    expect(maskValue('endpoint', '{"Op":0,"Addr":"10.0.0.1:80","Metadata":{"weight":3}}')).toBe(
      '{"Op":0,"Addr":"lbctl-paused:10.0.0.1:80","Metadata":{"weight":3}}',
    );
    expect(
      maskValue('kratos', '{"id":"a","name":"g","version":"v1","metadata":{"weight":"5"},"endpoints":["grpc://h:1"]}'),
    ).toBe(
      '{"id":"a","name":"g","version":"v1","metadata":{"weight":"5","lbctl.paused":"[\\"grpc://h:1\\"]"},"endpoints":[]}',
    );
    expect(maskValue('json', '{"Address":"10.0.0.1","Port":80}')).toBeNull();
  });

  it('keep the fields of others, in their order and letter case, and a nil metadata of Go', () => {
    expect(maskValue('kratos', '{"id":"a","Name":"g","metadata":null,"Endpoints":["grpc://h:1"],"extra":[1]}')).toBe(
      '{"id":"a","Name":"g","metadata":{"lbctl.paused":"[\\"grpc://h:1\\"]"},"Endpoints":[],"extra":[1]}',
    );
  });

  it('are read as the instance that they cover, and come off again', () => {
    const given = fc.record({
      service: fc.stringMatching(/^[a-z]{1,8}$/),
      id: fc.stringMatching(/^\d{1,9}$/),
      address: fc.tuple(fc.ipV4(), fc.integer({ min: 1, max: 65_535 })).map(([ip, port]) => `${ip}:${port}`),
      weight: fc.integer({ min: 0, max: 1000 }),
      zone: fc.stringMatching(/^[a-z]{0,5}$/),
      version: fc.stringMatching(/^[a-z]{0,5}$/),
      metadata: fc.dictionary(fc.stringMatching(/^x[a-z]{0,5}$/), fc.string()),
    });
    fc.assert(
      fc.property(given, fc.constantFrom(...maskable), (registration, dialect) => {
        const value = codecs[dialect].encode(registration);
        const plain = detect(bytes(value));
        const mask = maskValue(dialect, value) ?? '';
        expect(detect(bytes(mask))).toEqual({ dialect, decoded: { ...plain?.decoded, masked: true } });
        expect(unmaskValue(dialect, mask)).toBe(value);
        expect(unmaskValue(dialect, value)).toBeNull();
      }),
    );
  });

  it('are no masks when somebody else only writes something like one', () => {
    expect(detect(bytes('lbctl-paused:'))?.decoded.masked).toBeUndefined();
    for (const kept of ['5', '"no json"', '"[1"', '"{}"']) {
      const value = `{"id":"a","name":"g","metadata":{"lbctl.paused":${kept}},"endpoints":["grpc://h:1"]}`;
      expect(detect(bytes(value))?.decoded).toMatchObject({ address: 'h:1' });
      expect(detect(bytes(value))?.decoded.masked).toBeUndefined();
    }
  });
});
