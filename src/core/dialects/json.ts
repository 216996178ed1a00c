import { joinHostPort, splitHostPort } from './address.js';
import { type Codec, decoded, field, isObject, stringMap, textField, weightOf } from './codec.js';

const known = new Set(['instanceid', 'name', 'address', 'port', 'weight', 'zone', 'version', 'metadata']);

/**
 * The course project's registry: `{"InstanceID","Name","Address","Port","Weight"}`, names in any letter case. Fields
 * it does not know are kept as metadata; a `Metadata` object, `Zone` and `Version` are ours and ignored by its readers.
 */
export const json: Codec = {
  name: 'json',
  decode(_text, value) {
    if (!isObject(value)) return null;
    const host = textField(value, 'Address');
    const port = Number(field(value, 'Port'));
    if (host === undefined || field(value, 'Port') === null || !Number.isInteger(port)) return null;
    return decoded({
      address: joinHostPort(host.replace(/^\[(.*)\]$/, '$1'), port),
      weight: weightOf(field(value, 'Weight')),
      zone: textField(value, 'Zone'),
      version: textField(value, 'Version'),
      name: textField(value, 'Name'),
      metadata: { ...stringMap(value, known), ...stringMap(field(value, 'Metadata')) },
    });
  },
  encode(registration) {
    const { host, port } = splitHostPort(registration.address);
    return JSON.stringify({
      InstanceID: registration.id,
      Name: registration.service,
      Address: host,
      Port: port,
      Weight: registration.weight,
      ...(registration.zone === '' ? {} : { Zone: registration.zone }),
      ...(registration.version === '' ? {} : { Version: registration.version }),
      ...(Object.keys(registration.metadata).length === 0 ? {} : { Metadata: registration.metadata }),
    });
  },
};
