import { formatDuration } from '../model/duration.js';
import { type ErrorCode, LbctlError } from '../model/errors.js';
import type { GrpcStatus } from './call-tap.js';

export interface Failure {
  readonly error: LbctlError;
  /** What may help at once: another endpoint (or the same one later), a new token, or nothing. */
  readonly remedy: 'elsewhere' | 'token' | 'none';
  /** The request may have reached etcd and taken effect. */
  readonly mayHaveRun: boolean;
  /** Nothing was heard at all: the connection itself is suspect. */
  readonly silent: boolean;
  /** Nobody listens there (any more). */
  readonly refused: boolean;
}

export interface FailureContext {
  /** What was tried, to follow "Could not": `list user.rpc/`. */
  readonly what: string;
  /** `host:port`. */
  readonly address: string;
  readonly secure: boolean;
  readonly user?: string | undefined;
  readonly waitedMs?: number | undefined;
}

interface Rule {
  readonly when: (status: GrpcStatus, context: FailureContext) => boolean;
  readonly code: ErrorCode;
  readonly says: (context: FailureContext, details: string) => string;
  readonly help: (context: FailureContext) => readonly string[];
  readonly remedy?: Failure['remedy'];
  readonly mayHaveRun?: boolean;
  readonly silent?: boolean;
}

const text =
  (...parts: readonly (string | RegExp)[]) =>
  ({ details }: GrpcStatus) =>
    parts.some((part) => (typeof part === 'string' ? details.includes(part) : part.test(details)));

/** grpc-js says so when it gave up before a connection could carry the request. */
const neverSent = text(
  'No connection established',
  'Name resolution failed',
  'Channel closed before call started',
  'Waiting for LB pick',
  'Failed to connect',
);

const lookThere = (c: FailureContext) => [
  `Check that etcd runs there: etcdctl --endpoints ${c.secure ? 'https' : 'http'}://${c.address} endpoint health`,
  'Name another address with --endpoints, or LBCTL_ENDPOINTS.',
];
const clientCertificate = () => ['Give a client certificate that its CA signed: --cert FILE --tls-key FILE.'];
const account = () => ['Give the account with --user NAME and --password-file FILE.'];

/** First match wins. Texts are those of etcd 3.4 to 3.7, grpc-js and Node's TLS. */
const rules: readonly Rule[] = [
  {
    when: text('ALTNAME', 'does not match certificate'),
    code: 'ETCD_CERTIFICATE',
    says: (c, d) => `the certificate of ${c.address} is for another name (${d})`,
    help: () => ['Use the name that the certificate carries in --endpoints.'],
  },
  {
    when: text('certificate has expired', 'certificate is not yet valid'),
    code: 'ETCD_CERTIFICATE',
    says: (c, d) => `the certificate of ${c.address} is not valid today (${d})`,
    help: () => ['Renew the certificate of etcd, or check the clock of this machine.'],
  },
  {
    when: text(/alert (?:unknown ca|bad certificate|certificate (?:required|unknown|expired))/i, /handshake failure/i),
    code: 'ETCD_CERTIFICATE',
    says: (c, d) => `${c.address} did not accept the client certificate, or got none (${d})`,
    help: clientCertificate,
  },
  {
    when: text(/unable to (?:verify|get)/i, /self.signed/i, /certificate/i, 'CERT_'),
    code: 'ETCD_CERTIFICATE',
    says: (c, d) => `the certificate of ${c.address} is not signed by a CA that is trusted here (${d})`,
    help: () => ['Give the CA that signed it: --cacert FILE.'],
  },
  {
    when: text('before secure TLS connection was established', /wrong version number/i, /packet length too long/i),
    code: 'ETCD_CERTIFICATE',
    says: (c, d) => `${c.address} does not speak TLS (${d})`,
    help: (c) => [`If it really is a plain port, use http://${c.address} and no certificate flags.`],
  },
  {
    when: (s, c) =>
      !c.secure && neverSent(s) && /Last error: (?:Failed to connect|.*ECONNRESET|.*EPIPE)/i.test(s.details),
    code: 'ETCD_UNREACHABLE',
    says: (c, d) => `${c.address} took the connection and dropped it (${d})`,
    help: (c) => [`If it speaks TLS, use https://${c.address}, with --cacert FILE.`, ...lookThere(c)],
    remedy: 'elsewhere',
  },
  {
    // Now and then grpc-js says no more than this of a peer that cannot speak TLS.
    when: (s, c) => c.secure && neverSent(s) && s.details.includes('Connection dropped'),
    code: 'ETCD_UNREACHABLE',
    says: (c, d) => `${c.address} took the connection and dropped it (${d})`,
    help: (c) => [`If it does not speak TLS, use http://${c.address} and no certificate flags.`, ...lookThere(c)],
    remedy: 'elsewhere',
  },
  {
    when: text('ECONNREFUSED'),
    code: 'ETCD_UNREACHABLE',
    says: (c) => `${c.address} refused the connection`,
    help: lookThere,
    remedy: 'elsewhere',
  },
  {
    when: text('Name resolution failed', 'ENOTFOUND', 'EAI_AGAIN'),
    code: 'ETCD_UNREACHABLE',
    says: (c) => `the name of ${c.address} could not be resolved`,
    help: () => ['Check the host name in --endpoints, or LBCTL_ENDPOINTS.'],
    remedy: 'elsewhere',
  },
  {
    when: ({ code, details }) => code === 4 && neverSent({ code, details }),
    code: 'ETCD_TIMEOUT',
    says: (c) => `${c.address} did not answer${within(c)}`,
    help: lookThere,
    remedy: 'elsewhere',
    silent: true,
  },
  {
    when: neverSent,
    code: 'ETCD_UNREACHABLE',
    says: (c, d) => `no connection to ${c.address} (${d})`,
    help: lookThere,
    remedy: 'elsewhere',
  },
  {
    when: text('authentication failed, invalid user ID or password'),
    code: 'ETCD_AUTH_FAILED',
    says: (c) => `${c.address} did not accept the password of user ${c.user ?? '(none)'}`,
    help: account,
  },
  {
    when: text('authentication is not enabled'),
    code: 'ETCD_AUTH_FAILED',
    says: (c) => `user ${c.user ?? '(none)'} was given, but authentication is off at ${c.address}`,
    help: () => ['Leave out --user and the password, or turn authentication on: etcdctl auth enable.'],
  },
  {
    when: text('user name is empty'),
    code: 'ETCD_AUTH_FAILED',
    says: (c) => `${c.address} asks for a user and a password, and none was given`,
    help: account,
  },
  {
    when: text('invalid auth token', 'revision of auth store is old'),
    code: 'ETCD_TOKEN_INVALID',
    says: (c, d) => `${c.address} refused the token of user ${c.user ?? '(none)'} (${d})`,
    help: () => ['Try again. If it stays so, check the clocks of the etcd members and their --auth-token.'],
    remedy: 'token',
  },
  {
    when: (s) => s.code === 7 || text('permission denied')(s),
    code: 'ETCD_PERMISSION_DENIED',
    says: (c) => `user ${c.user ?? '(none)'} may not do that at ${c.address}: permission denied`,
    help: (c) => [`See what the user may do: etcdctl user get ${c.user ?? 'NAME'} --detail`],
  },
  {
    when: text('requested lease not found'),
    code: 'LEASE_NOT_FOUND',
    says: (c) => `${c.address} knows no such lease: it expired or was revoked`,
    help: () => ['See the leases that exist: etcdctl lease list'],
  },
  {
    when: text('lease already exists'),
    code: 'LEASE_EXISTS',
    says: (c) => `${c.address} has a lease of that id already`,
    help: () => ['Try again: a new id is chosen.'],
  },
  {
    when: text('database space exceeded'),
    code: 'ETCD_NO_SPACE',
    says: (c) => `the database of ${c.address} is full (its space quota is used up)`,
    help: () => ['Compact and defragment it, then: etcdctl alarm disarm'],
  },
  {
    when: text('has been compacted'),
    code: 'ETCD_COMPACTED',
    says: (c) => `${c.address} has compacted that revision`,
    help: () => ['Read again from the current revision.'],
  },
  {
    // etcd refuses before it looks at the request, so even a write can safely go elsewhere.
    when: text('no leader', 'too many requests'),
    code: 'ETCD_NO_QUORUM',
    says: (c, d) => `${c.address} cannot decide anything now (${d})`,
    help: (c) => [`Look at the members: etcdctl --endpoints ${c.address} endpoint status --cluster`],
    remedy: 'elsewhere',
  },
  {
    when: (s) =>
      text('leader changed', 'etcdserver: request timed out')(s) || (s.code === 2 && s.details.includes('timed out')),
    code: 'ETCD_NO_QUORUM',
    says: (c, d) => `${c.address} found no majority of members in time (${d})`,
    help: (c) => [`Look at the members: etcdctl --endpoints ${c.address} endpoint status --cluster`],
    remedy: 'elsewhere',
    mayHaveRun: true,
  },
  {
    when: ({ code, details }) => code === 4 || details.includes('context deadline exceeded'),
    code: 'ETCD_TIMEOUT',
    says: (c) => `${c.address} did not answer${within(c)}`,
    help: (c) => ['Give it more time with --command-timeout 20s.', ...lookThere(c)],
    remedy: 'elsewhere',
    mayHaveRun: true,
    silent: true,
  },
  {
    when: ({ code }) => code === 12,
    code: 'ETCD_REJECTED',
    says: (c, d) => `${c.address} does not speak etcd's v3 API (${d})`,
    help: () => ["Name etcd's client port in --endpoints, usually 2379."],
  },
  {
    when: ({ code }) => code === 14 || code === 13 || code === 1,
    code: 'ETCD_UNREACHABLE',
    says: (c, d) => `the connection to ${c.address} broke (${d})`,
    help: lookThere,
    remedy: 'elsewhere',
    mayHaveRun: true,
  },
];

const rejected: Omit<Rule, 'when'> = {
  code: 'ETCD_REJECTED',
  says: (c, d) => `${c.address} said no (${d})`,
  help: () => [],
};

/** What a status means: the error for people, and what the caller may do about it. */
export function classify(status: GrpcStatus, context: FailureContext): Failure {
  const rule: Omit<Rule, 'when'> = rules.find((r) => r.when(status, context)) ?? rejected;
  const details =
    status.details
      .replace(/\s+/g, ' ')
      .trim()
      .replace(/\. Resolution note:.*$/, '') || `code ${status.code}`;
  return {
    error: new LbctlError(rule.code, `Could not ${context.what}: ${rule.says(context, details)}`, {
      suggestions: rule.help(context),
      cause: new Error(`${status.code} ${details}`),
    }),
    remedy: rule.remedy ?? 'none',
    // An unknown error (code 2) tells nothing about what happened before it.
    mayHaveRun: rule.mayHaveRun ?? status.code === 2,
    silent: rule.silent ?? false,
    refused: details.includes('ECONNREFUSED'),
  };
}

/** A write was sent, and no answer says whether it happened. */
export function outcomeUnknown(what: string, cause: LbctlError): LbctlError {
  const why = cause.message.replace(`Could not ${what}: `, '');
  return new LbctlError('ETCD_OUTCOME_UNKNOWN', `Sent, but nobody knows whether it happened: ${what} (${why})`, {
    suggestions: ['Look at the current state (lbctl list) before you try again.'],
    cause,
  });
}

function within({ waitedMs }: FailureContext): string {
  return waitedMs === undefined ? ' in time' : ` within ${formatDuration(waitedMs)}`;
}
