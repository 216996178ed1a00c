import type { Instance } from '../../src/core/model/instance.js';

/** An instance that is up, with what a test cares about. */
export function instance(fields: Partial<Instance> = {}): Instance {
  return {
    address: '10.0.0.1:8080',
    id: '1',
    key: 'user.rpc/1',
    service: 'user.rpc',
    dialect: 'gozero',
    admin: 'up',
    health: 'unknown',
    weight: 1,
    zone: '',
    version: '',
    metadata: {},
    lease: { id: 7587862094053123457n },
    createRevision: 5n,
    modRevision: 5n,
    owner: null,
    since: null,
    pause: null,
    notes: [],
    ...fields,
  };
}
