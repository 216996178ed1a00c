import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { unary } from './calls.js';
import { refuse } from './refusals.js';
import type { Registry } from './registry.js';

/** The etcd whose behaviour is followed where versions differ; clients choose their protocol by it. */
export const emulatedVersion = '3.6.0';

export function maintenanceService(registry: Registry): UntypedServiceImplementation {
  return {
    Status: unary(() => {
      const header = registry.header();
      // One entry of the log a revision: there is no log here, and these numbers only have to rise.
      const index = header.revision;
      return {
        header,
        version: emulatedVersion,
        dbSize: process.memoryUsage().heapUsed,
        dbSizeInUse: process.memoryUsage().heapUsed,
        leader: registry.memberId,
        raftIndex: index,
        raftAppliedIndex: index,
        raftTerm: header.raft_term,
      };
    }),
    Alarm: unary(() => ({ header: registry.header(), alarms: [] })),
  };
}

export function clusterService(registry: Registry, endpoint: () => string): UntypedServiceImplementation {
  return {
    MemberList: unary(() => ({
      // etcd leaves the revision out of the answers of this service.
      header: registry.header(0),
      members: [{ ID: registry.memberId, name: 'embedded', peerURLs: [], clientURLs: [endpoint()], isLearner: false }],
    })),
  };
}

export function authService(registry: Registry): UntypedServiceImplementation {
  return {
    Authenticate: unary(() => {
      throw refuse.authNotEnabled();
    }),
    AuthStatus: unary(() => ({ header: registry.header(), enabled: false, authRevision: 1 })),
  };
}
