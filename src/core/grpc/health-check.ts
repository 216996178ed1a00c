import { Client, credentials, status } from '@grpc/grpc-js';

const servingStatus = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/**
 * Asks `grpc.health.v1.Health/Check` of `address` (`host:port`, plaintext) for `service` (empty: the whole server).
 * Healthy is SERVING. A server without the health service answers UNIMPLEMENTED: it is alive, and the text says so.
 * Source: https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
export function probeGrpc(address: string, service: string, signal: AbortSignal): Promise<string> {
  const client = new Client(address, credentials.createInsecure(), {
    // The shared pool would remember a refused connection and back off for up to 2 minutes while the server is back.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_retries': 0,
  });
  return new Promise<string>((resolve, reject) => {
    if (signal.aborted) return reject(new Error('no answer in time'));
    const call = client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      encodeRequest,
      decodeStatus,
      service,
      (error, value) => {
        signal.removeEventListener('abort', cancel);
        if (error?.code === status.UNIMPLEMENTED) resolve('alive, without the gRPC health service');
        else if (error?.code === status.NOT_FOUND) reject(new Error(`the server knows no service "${service}"`));
        else if (error) reject(new Error(`${status[error.code]}: ${error.details}`));
        else if (value === 1) resolve('SERVING');
        else reject(new Error(servingStatus[value ?? 0] ?? `status ${value}`));
      },
    );
    const cancel = () => call.cancel();
    signal.addEventListener('abort', cancel, { once: true });
  }).finally(() => client.close());
}

/** HealthCheckRequest { string service = 1; } */
function encodeRequest(service: string): Buffer {
  const text = Buffer.from(service);
  if (text.length === 0) return text;
  return Buffer.concat([Buffer.from([0x0a, ...varint(text.length)]), text]);
}

/** HealthCheckResponse { ServingStatus status = 1; }: 0 when absent. Fields of a later version are skipped. */
function decodeStatus(message: Buffer): number {
  let at = 0;
  let found = 0;
  const read = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++];
      if (byte === undefined || shift > 63) throw new Error('a health answer that is not a protobuf message');
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = read();
    const wireType = tag % 8;
    if (wireType === 0) {
      const value = read();
      if (tag === 8) found = value;
    } else if (wireType === 1) at += 8;
    else if (wireType === 2) at += read();
    else if (wireType === 5) at += 4;
    else throw new Error('a health answer that is not a protobuf message');
  }
  return found;
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
