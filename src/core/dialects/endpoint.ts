import { type Codec, decoded, field, isObject, stringMap, textField, weightOf } from './codec.js';
import { maskPrefix } from './mask.js';

const own = new Set(['weight', 'zone', 'version']);

/** etcd's own gRPC naming (`client/v3/naming/endpoints`): `{"Op":0,"Addr":"h:p","Metadata":…}`. */
export const endpoint: Codec = {
  name: 'endpoint',
  decode(_text, value) {
    if (!isObject(value) || !Object.hasOwn(value, 'Addr')) return null;
    const written = textField(value, 'Addr');
    if (written === undefined) return null;
    const masked = written.startsWith(maskPrefix);
    const address = masked ? written.slice(maskPrefix.length) : written;
    const metadata = field(value, 'Metadata');
    if (!isObject(metadata)) {
      // Any JSON is allowed there; a bare string or number is kept under the name that people know it by.
      const bare = metadata === null || metadata === undefined ? {} : stringMap({ Metadata: metadata });
      return decoded({ address, masked, metadata: bare });
    }
    return decoded({
      address,
      masked,
      weight: weightOf(field(metadata, 'weight')),
      zone: textField(metadata, 'zone'),
      version: textField(metadata, 'version'),
      metadata: stringMap(metadata, own),
    });
  },
  encode(registration) {
    return JSON.stringify({
      Op: 0,
      Addr: registration.address,
      Metadata: {
        ...registration.metadata,
        weight: registration.weight,
        ...(registration.zone === '' ? {} : { zone: registration.zone }),
        ...(registration.version === '' ? {} : { version: registration.version }),
      },
    });
  },
};
