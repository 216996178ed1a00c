/** Short-lived certificates for TLS tests, made by `openssl` in a directory of their own. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface Pair {
  /** Paths of PEM files. */
  readonly cert: string;
  readonly key: string;
}

export interface Certificates {
  /** Path of the CA's certificate. */
  readonly ca: string;
  /** A CA that signed nothing here. */
  readonly otherCa: string;
  /** For 127.0.0.1 and localhost. */
  readonly server: Pair;
  /** For the name `elsewhere.test` only. */
  readonly otherName: Pair;
  readonly client: Pair;
  /** Signed by `otherCa`. */
  readonly strangerClient: Pair;
  remove(): void;
}

export async function makeCertificates(): Promise<Certificates> {
  const dir = mkdtempSync(join(tmpdir(), 'lbctl-certs-'));
  const path = (name: string) => join(dir, name);
  const create = async (name: string, extra: readonly string[]): Promise<Pair> => {
    const pair = { cert: path(`${name}.pem`), key: path(`${name}.key`) };
    await promisify(execFile)('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', `/CN=${name}`, '-out', pair.cert, '-keyout', pair.key, ...extra],
    ]);
    return pair;
  };
  const signedBy = (ca: Pair, names: string) => [
    ...['-CA', ca.cert, '-CAkey', ca.key, '-addext', `subjectAltName=${names}`],
    ...['-addext', 'basicConstraints=critical,CA:FALSE', '-addext', 'extendedKeyUsage=serverAuth,clientAuth'],
  ];
  const [ca, other] = await Promise.all([create('ca', []), create('other-ca', [])]);
  const [server, otherName, client, strangerClient] = await Promise.all([
    create('server', signedBy(ca, 'IP:127.0.0.1,DNS:localhost')),
    create('other-name', signedBy(ca, 'DNS:elsewhere.test')),
    create('client', signedBy(ca, 'DNS:client.test')),
    create('stranger', signedBy(other, 'DNS:stranger.test')),
  ]);
  return {
    ca: ca.cert,
    otherCa: other.cert,
    server,
    otherName,
    client,
    strangerClient,
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

export function readPair(pair: Pair): { cert: Buffer; key: Buffer } {
  return { cert: readFileSync(pair.cert), key: readFileSync(pair.key) };
}
