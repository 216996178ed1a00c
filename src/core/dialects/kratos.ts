import { type Codec, decoded, field, isObject, stringMap, textField, weightOf } from './codec.js';
import { coveredEndpoints, maskedEndpoints } from './mask.js';

const own = new Set([maskedEndpoints]);

/**
 * kratos v2 (`registry.ServiceInstance`): `{"id","name","version","metadata":{},"endpoints":["grpc://h:p"]}`, these
 * fields in this order. Weight is a string in the metadata; the address is the gRPC endpoint's.
 */
export const kratos: Codec = {
  name: 'kratos',
  decode(_text, value) {
    if (!isObject(value)) return null;
    const name = textField(value, 'name');
    const endpoints = field(value, 'endpoints');
    if (name === undefined || !(Array.isArray(endpoints) || endpoints === null)) return null;
    const covered = coveredEndpoints(value);
    const { weight, zone, ...metadata } = stringMap(field(value, 'metadata'), covered ? own : undefined);
    return decoded({
      address: grpcAddress(covered ?? endpoints ?? []),
      masked: covered !== null,
      weight: weightOf(weight),
      zone: zone === '' ? undefined : zone,
      version: textField(value, 'version'),
      name,
      metadata,
    });
  },
  encode(registration) {
    return JSON.stringify({
      id: registration.id,
      name: registration.service,
      version: registration.version,
      metadata: {
        ...registration.metadata,
        weight: String(registration.weight),
        ...(registration.zone === '' ? {} : { zone: registration.zone }),
      },
      endpoints: [`grpc://${registration.address}`],
    });
  },
};

function grpcAddress(endpoints: readonly unknown[]): string {
  for (const endpoint of endpoints) {
    const match = typeof endpoint === 'string' ? /^grpcs?:\/\/([^/?#]+)/.exec(endpoint) : null;
    if (match?.[1] !== undefined) return match[1];
  }
  return '';
}
