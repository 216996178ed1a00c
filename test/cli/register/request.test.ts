import { describe, expect, it } from 'vitest';
import { type RegisterArguments, readRequest } from '../../../src/cli/register/request.js';
import { isLbctlError } from '../../../src/core/model/errors.js';

const plain: RegisterArguments = {
  service: 'user.rpc',
  address: '10.0.0.7:8080',
  ttl: '10s',
  weight: '1',
  zone: '',
  versionLabel: '',
  meta: [],
  dialect: 'gozero',
  exclusive: false,
  drainDelay: '1s',
  killAfter: '10s',
};
const read = (more: Partial<RegisterArguments>, env = {}) => readRequest({ ...plain, ...more }, env);

describe('the arguments of register', () => {
  it('reads what is needed to register', () => {
    expect(
      read({ id: '7', ttl: '5', weight: '3', zone: 'a', versionLabel: 'v2', meta: ['k=v', 'url=a=b', 'empty='] }),
    ).toEqual({
      service: 'user.rpc',
      address: '10.0.0.7:8080',
      id: '7',
      ttlSeconds: 5,
      weight: 3,
      zone: 'a',
      version: 'v2',
      metadata: { k: 'v', url: 'a=b', empty: '' },
      dialect: 'gozero',
      exclusive: false,
      health: null,
      drainDelayMs: 1000,
      killAfterMs: 10_000,
    });
  });

  it('registers what clients can dial in place of every interface, and --advertise above all', () => {
    expect(read({ address: ':8080' }, { POD_IP: '10.1.1.1' }).address).toBe('10.1.1.1:8080');
    expect(read({ address: ':8080', advertise: 'db.example:9000' }, { POD_IP: '10.1.1.1' }).address).toBe(
      'db.example:9000',
    );
    expect(read({ address: undefined, advertise: 'db.example:9000' }).address).toBe('db.example:9000');
  });

  it('a bare health check asks the address that is registered', () => {
    expect(read({ address: ':8080', health: 'tcp' }, { POD_IP: '10.1.1.1' }).health).toEqual({
      kind: 'tcp',
      address: '10.1.1.1:8080',
    });
  });

  it.each<[Partial<RegisterArguments>, string]>([
    [{ address: undefined }, 'missing'],
    [{ address: 'localhost' }, 'port is missing'],
    [{ address: 'localhost:0' }, 'port 0'],
    [{ address: 'localhost:70000' }, 'port 70000'],
    [{ advertise: ':8080' }, ':8080'],
    [{ service: '' }, 'empty'],
    [{ service: 'a b' }, 'blanks'],
    [{ service: 'a/../b' }, '..'],
    [{ id: 'a/b' }, '--id'],
    [{ id: '' }, '--id'],
    [{ ttl: '0' }, '--ttl'],
    [{ ttl: '1500ms' }, '--ttl'],
    [{ ttl: '-1' }, 'duration'],
    [{ ttl: '2d' }, '--ttl'],
    [{ weight: '-1' }, '--weight'],
    [{ weight: '0' }, '--weight'],
    [{ weight: '1e9' }, '--weight'],
    [{ weight: '1000000000' }, '--weight'],
    [{ weight: '1.5' }, '--weight'],
    [{ meta: ['nothing'] }, '--meta'],
    [{ meta: ['=v'] }, '--meta'],
    [{ dialect: 'nacos' }, '--dialect'],
    [{ health: 'udp' }, 'health check'],
    [{ drainDelay: 'soon' }, 'duration'],
    [{ killAfter: '-1s' }, 'duration'],
  ])('%j is wrong usage, and the message says "%s"', (more, words) => {
    let caught: unknown;
    try {
      read(more);
    } catch (error) {
      caught = error;
    }
    expect(caught).toMatchObject({ code: 'USAGE', message: expect.stringContaining(words) });
    expect(isLbctlError(caught) && caught.suggestions.length).toBeGreaterThan(0);
  });
});
