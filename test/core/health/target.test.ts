import { describe, expect, it } from 'vitest';
import { describeTarget, parseHealthTarget } from '../../../src/core/health/target.js';
import { isLbctlError } from '../../../src/core/model/errors.js';

const own = '10.0.0.7:8080';

describe('parseHealthTarget', () => {
  it.each([
    ['tcp', { kind: 'tcp', address: own }],
    ['tcp://127.0.0.1:9000', { kind: 'tcp', address: '127.0.0.1:9000' }],
    ['tcp://[::1]:9000', { kind: 'tcp', address: '[::1]:9000' }],
    ['tcp://localhost:80', { kind: 'tcp', address: 'localhost:80' }],
    ['grpc', { kind: 'grpc', address: own, service: '' }],
    ['grpc://h:1', { kind: 'grpc', address: 'h:1', service: '' }],
    ['grpc://h:1/user.User', { kind: 'grpc', address: 'h:1', service: 'user.User' }],
    ['http://h/healthz', { kind: 'http', url: 'http://h/healthz' }],
    ['https://h:8443/healthz?deep=1', { kind: 'http', url: 'https://h:8443/healthz?deep=1' }],
  ])('reads %s', (text, expected) => {
    expect(parseHealthTarget(text, own)).toEqual(expected);
  });

  it('means the own IPv6 address with its brackets', () => {
    expect(parseHealthTarget('tcp', '[fd00::7]:8080')).toEqual({ kind: 'tcp', address: '[fd00::7]:8080' });
  });

  it.each([
    '',
    'udp',
    'tcp:',
    'tcp://',
    'tcp://h',
    'tcp://h:0',
    'tcp://h:70000',
    'tcp://h:1/path',
    'grpc://h:1/%zz',
    'ftp://h:1',
  ])('refuses "%s" as wrong usage', (text) => {
    let caught: unknown;
    try {
      parseHealthTarget(text, own);
    } catch (error) {
      caught = error;
    }
    expect(isLbctlError(caught, 'USAGE')).toBe(true);
  });

  it.each(['tcp://h:1', 'grpc://h:1', 'grpc://h:1/user.User', 'http://h/healthz'])(
    '%s is shown as it was written',
    (text) => {
      expect(describeTarget(parseHealthTarget(text, own))).toBe(text);
    },
  );
});
