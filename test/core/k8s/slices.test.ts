import type { V1EndpointSlice } from '@kubernetes/client-node';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyChange, podsOf, type Slices, slicesOf } from '../../../src/core/k8s/slices.js';

const slice = (name: string, hosts: readonly string[], rest: Partial<V1EndpointSlice> = {}): V1EndpointSlice => ({
  addressType: 'IPv4',
  metadata: { name },
  ports: [{ port: 8080, protocol: 'TCP' }],
  endpoints: hosts.map((host) => ({ addresses: [host] })),
  ...rest,
});
const addresses = (slices: readonly V1EndpointSlice[], port: number | null = null) =>
  podsOf(slicesOf(slices), port).map((pod) => pod.address);

describe('which pods count', () => {
  it.each([
    ['ready', { ready: true }, true],
    ['not ready', { ready: false }, false],
    ['of unknown readiness', {}, true],
    ['terminating, not ready', { ready: false, terminating: true }, false],
    ['terminating, published though', { ready: true, terminating: true }, false],
    ['serving while it terminates', { ready: false, serving: true, terminating: true }, false],
    ['not terminating', { ready: true, terminating: false }, true],
  ])('a pod that is %s', (_, conditions, counts) => {
    const found = addresses([slice('a', [], { endpoints: [{ addresses: ['10.0.0.1'], conditions }] })]);
    expect(found).toEqual(counts ? ['10.0.0.1:8080'] : []);
  });

  it('a pod without any conditions counts', () => {
    expect(addresses([slice('a', ['10.0.0.1'])])).toEqual(['10.0.0.1:8080']);
  });

  it('a pod in two slices counts once, and only its first address is dialled', () => {
    const twice = slice('b', [], { endpoints: [{ addresses: ['10.0.0.1', '10.0.0.99'], zone: 'z' }] });
    expect(addresses([slice('a', ['10.0.0.1']), twice])).toEqual(['10.0.0.1:8080']);
    expect(podsOf(slicesOf([twice]), null)).toEqual([{ address: '10.0.0.1:8080', zone: 'z' }]);
  });

  it('an IPv6 address is bracketed', () => {
    expect(addresses([slice('a', ['fd00::7'], { addressType: 'IPv6' })])).toEqual(['[fd00::7]:8080']);
  });
});

describe('which port', () => {
  const ports = (...given: NonNullable<V1EndpointSlice['ports']>) => slice('a', ['10.0.0.1'], { ports: given });
  it.each([
    ['its slice has one', ports({ port: 8080 }), null, ['10.0.0.1:8080']],
    [
      'it has several: the one named grpc',
      ports({ name: 'http', port: 80 }, { name: 'grpc', port: 9000 }),
      null,
      ['10.0.0.1:9000'],
    ],
    ['none is named grpc: the first', ports({ name: 'b', port: 81 }, { name: 'a', port: 80 }), null, ['10.0.0.1:81']],
    ['one is UDP', ports({ port: 53, protocol: 'UDP' }, { port: 80, protocol: 'TCP' }), null, ['10.0.0.1:80']],
    ['there is none', ports(), null, []],
    ['its number is left open', ports({ name: 'any' }), null, []],
    ['the target gives one', ports({ port: 8080 }), 9000, ['10.0.0.1:9000']],
    ['the target gives one and the slice none', ports(), 9000, ['10.0.0.1:9000']],
  ])('%s', (_, given, port, expected) => {
    expect(addresses([given], port)).toEqual(expected);
  });

  it('each pod has the port of its own slice: a named port differs between versions of a deployment', () => {
    const old = slice('old', ['10.0.0.1'], { ports: [{ name: 'grpc', port: 8080 }] });
    const young = slice('young', ['10.0.0.2'], { ports: [{ name: 'grpc', port: 9090 }] });
    expect(addresses([old, young])).toEqual(['10.0.0.1:8080', '10.0.0.2:9090']);
  });
});

it('after any changes the pods are those of the slices that are left', () => {
  const change = fc.record({
    type: fc.constantFrom('ADDED' as const, 'MODIFIED' as const, 'DELETED' as const),
    name: fc.constantFrom('a', 'b', 'c'),
    hosts: fc.uniqueArray(fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4')),
  });
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      let slices: Slices = new Map();
      const naive: Record<string, readonly string[]> = {};
      for (const { type, name, hosts } of changes) {
        const before = [...slices];
        const next = applyChange(slices, { type, slice: slice(name, hosts) });
        expect([...slices]).toEqual(before);
        slices = next;
        if (type === 'DELETED') delete naive[name];
        else naive[name] = hosts;
        const expected = [...new Set(Object.values(naive).flat())].sort().map((host) => `${host}:8080`);
        expect(podsOf(slices, null).map((pod) => pod.address)).toEqual(expected);
      }
    }),
  );
});
