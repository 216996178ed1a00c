import { type Codec, decoded } from './codec.js';
import { maskPrefix } from './mask.js';

/** Longest text that can be a host (253) in brackets, a zone and a port, with room to spare. */
const maxLength = 512;
const hostAndPort = /^[\p{L}\p{N}._\-[\]:%]*:\d{1,5}$/u;
const bareIp = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[?(?=[^:]*:[^:]*:)[0-9A-Fa-f:]+(?:%\w+)?\]?)$/;

/**
 * go-zero: the value is `host:port` as plain text. An IP without a port counts as well (it is a registration, a broken
 * one); other words do not, or every configuration key in etcd would look like a service.
 */
export const gozero: Codec = {
  name: 'gozero',
  decode(text) {
    const masked = text.startsWith(maskPrefix);
    const address = masked ? text.slice(maskPrefix.length) : text;
    if (address.length > maxLength || !(hostAndPort.test(address) || bareIp.test(address))) return null;
    return decoded({ address, masked, metadata: {} });
  },
  encode: (registration) => registration.address,
};
