import { connect, type IncomingHttpHeaders } from 'node:http2';

/** The values of HealthCheckResponse.ServingStatus, by number. */
export const servingStatus = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];
const malformed = 'answers, but not with a gRPC health message';

/**
 * Adapter on node:http2: asks `grpc.health.v1.Health/Check` of `address` (`host:port`, plaintext) for `service` (empty: the
 * whole server). Healthy is SERVING. A server without the health service answers UNIMPLEMENTED: it is alive, and the text
 * says so. Not through grpc-js: its channel backs off for up to 2 minutes after a refused connection, and leaves a socket
 * behind for each attempt on a server that accepts and then hangs.
 * Source: https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
export function probeGrpc(address: string, service: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new Error('no answer in time'));
    const session = connect(`http://${address}`);
    const settle = (tell: () => void) => {
      signal.removeEventListener('abort', onAbort);
      session.destroy();
      tell();
    };
    const fail = (error: Error) => settle(() => reject(error));
    const onAbort = () => fail(new Error('no answer in time'));
    signal.addEventListener('abort', onAbort, { once: true });
    session.on('error', fail);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const chunks: Buffer[] = [];
    let headers: IncomingHttpHeaders = {};
    // A server that answers at once, without a message, puts its status among the headers.
    for (const event of ['response', 'trailers']) {
      stream.on(event, (more: IncomingHttpHeaders) => {
        headers = { ...headers, ...more };
      });
    }
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', fail);
    stream.on('close', () =>
      settle(() => {
        const verdict = judge(headers, Buffer.concat(chunks), service);
        if (verdict.healthy) resolve(verdict.detail);
        else reject(new Error(verdict.detail));
      }),
    );
    stream.end(encodeRequest(service));
  });
}

function judge(headers: IncomingHttpHeaders, body: Buffer, service: string): { healthy: boolean; detail: string } {
  const code = headers['grpc-status'];
  if (code === undefined) return { healthy: false, detail: malformed };
  if (code === '12') return { healthy: true, detail: 'alive, without the gRPC health service' };
  if (code === '5') return { healthy: false, detail: `the server knows no service "${service}"` };
  if (code !== '0') return { healthy: false, detail: `gRPC status ${code}: ${headers['grpc-message'] ?? ''}` };
  const status = decodeStatus(body);
  return {
    healthy: status === 1,
    detail: status === undefined ? malformed : (servingStatus[status] ?? `status ${status}`),
  };
}

/** One uncompressed gRPC message: HealthCheckRequest { string service = 1; } */
function encodeRequest(service: string): Buffer {
  const text = Buffer.from(service);
  const message = text.length === 0 ? text : Buffer.concat([Buffer.from([0x0a, ...varint(text.length)]), text]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The message after its prefix; undefined when it is no single uncompressed message. */
function decodeStatus(body: Buffer): number | undefined {
  return body.length < 5 || body[0] !== 0 ? undefined : decodeHealthStatus(body.subarray(5));
}

/** HealthCheckResponse { ServingStatus status = 1; }: 0 when absent; undefined when it is no such message. */
export function decodeHealthStatus(body: Buffer): number | undefined {
  let at = 0;
  let found = 0;
  const read = () => {
    let value = 0;
    for (let shift = 0; shift < 64; shift += 7) {
      const byte = body[at++];
      if (byte === undefined) return Number.NaN;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return Number.NaN;
  };
  // Fields of a later version are skipped by their wire type.
  while (at < body.length) {
    const tag = read();
    const wireType = tag % 8;
    if (wireType === 0) {
      const value = read();
      if (tag === 8) found = value;
    } else if (wireType === 2) {
      const length = read();
      at += length;
    } else if (wireType === 1 || wireType === 5) {
      at += wireType === 1 ? 8 : 4;
    } else return undefined;
  }
  return at === body.length && Number.isInteger(found) ? found : undefined;
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
