import { checkAddress, isAnyHost, joinHostPort, splitHostPort } from '../dialects/address.js';
import { LbctlError } from '../model/errors.js';

/** One address of one network interface, as node's `os.networkInterfaces()` lists them. */
export interface InterfaceAddress {
  /** An IP address, without a port. */
  readonly address: string;
  /** Which kind of address it is. */
  readonly family: 'IPv4' | 'IPv6';
  /** True for the loopback interface. */
  readonly internal: boolean;
}

/** The machine, as far as an address needs it. `interfaces` holds only those that are up, in the system's order. */
export interface Machine {
  /** By name, as `os.networkInterfaces()` gives them. */
  readonly interfaces: () => Readonly<Record<string, readonly InterfaceAddress[] | undefined>>;
  /** `POD_IP` is read. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The address that clients can dial for a server that listens on `listenOn`. A host that names every interface becomes
 * `POD_IP`, else the first IPv4 of the first interface that is not loopback, else the first global IPv6.
 * @throws USAGE when the port is missing or out of range, or the machine has no address to offer.
 */
export function figureOutListenOn(listenOn: string, machine: Machine): string {
  // `:::8080` and `::` are how people and frameworks write "every interface" without brackets.
  const text = /^::(?=:\d+$)/.test(listenOn) ? listenOn.replace(/^::/, '[::]') : listenOn;
  const { host, port, unbracketed } = splitHostPort(text);
  if (!unbracketed && port !== null && port >= 1 && port <= 65_535 && isAnyHost(host)) {
    return joinHostPort(ownHost(listenOn, machine), port);
  }
  checkAddress(text);
  return text;
}

function ownHost(listenOn: string, { env, interfaces }: Machine): string {
  const pod = env.POD_IP?.trim();
  if (pod) return pod.replace(/^\[(.*)\]$/, '$1');
  const all = Object.values(interfaces()).map((addresses) => (addresses ?? []).filter((entry) => !entry.internal));
  for (const addresses of all) {
    const v4 = addresses.find((entry) => entry.family === 'IPv4');
    if (v4) return v4.address;
  }
  // Link-local (fe80::/10) needs a zone that means nothing on another machine.
  const v6 = all.flat().find((entry) => entry.family === 'IPv6' && !/^fe[89ab]/i.test(entry.address));
  if (v6) return v6.address;
  throw new LbctlError('USAGE', `"${listenOn}" listens on every interface, and none has an address to advertise`, {
    suggestions: ['Give the address that clients reach: --advertise HOST:PORT.', 'Or set POD_IP.'],
  });
}
