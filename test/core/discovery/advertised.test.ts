import { expect, it } from 'vitest';
import { figureOutListenOn, type Machine } from '../../../src/core/discovery/advertised.js';

const loopback = { address: '127.0.0.1', family: 'IPv4', internal: true } as const;
const linkLocal = { address: 'fe80::1', family: 'IPv6', internal: false } as const;
const v6 = { address: 'fd00::7', family: 'IPv6', internal: false } as const;
const v4 = { address: '10.0.0.7', family: 'IPv4', internal: false } as const;
const machine = (interfaces: ReturnType<Machine['interfaces']>, env: Machine['env'] = {}): Machine => ({
  interfaces: () => interfaces,
  env,
});
const usual = machine({ lo: [loopback], eth0: [linkLocal, v6, v4] });

it.each([
  ['0.0.0.0:8080', usual, '10.0.0.7:8080'],
  [':8080', usual, '10.0.0.7:8080'],
  ['[::]:8080', usual, '10.0.0.7:8080'],
  [':::8080', usual, '10.0.0.7:8080'],
  ['0.0.0.0:8080', machine({ lo: [loopback], eth0: [linkLocal, v6] }), '[fd00::7]:8080'],
  ['0.0.0.0:8080', machine({ eth0: [v4] }, { POD_IP: '10.9.9.9' }), '10.9.9.9:8080'],
  ['0.0.0.0:8080', machine({ eth0: [v4] }, { POD_IP: 'fd00::9' }), '[fd00::9]:8080'],
  ['192.168.1.2:8080', machine({ eth0: [v4] }, { POD_IP: '10.9.9.9' }), '192.168.1.2:8080'],
  ['[fd00::8]:8080', usual, '[fd00::8]:8080'],
])('listening on %s advertises what others can dial', (listenOn, where, expected) => {
  expect(figureOutListenOn(listenOn, where)).toBe(expected);
});

it.each(['0.0.0.0', '10.0.0.1', ':0', '0.0.0.0:70000', 'fd00::7:8080', ''])('refuses %j', (listenOn) => {
  expect(() => figureOutListenOn(listenOn, usual)).toThrow(/port|brackets/);
});

it('says what to do when the machine has only loopback', () => {
  expect(() => figureOutListenOn(':8080', machine({ lo: [loopback], eth0: [linkLocal] }))).toThrow(
    /none has an address/,
  );
});
