/** What the kernel's TCP table says about one local port. */
export interface PortUse {
  /** Connections in state ESTABLISHED whose local end is the port. */
  readonly established: number;
  /** Somebody listens on it. */
  readonly listening: boolean;
}

const states = { established: '01', listen: '0A' } as const;

/**
 * Counts in the text of /proc/net/tcp and tcp6 (proc_net_tcp(5)): one header line, then `sl local rem st …`, addresses as
 * `HEXADDRESS:HEXPORT`. Lines that are none are skipped.
 */
export function portUse(tables: readonly string[], port: number): PortUse {
  let established = 0;
  let listening = false;
  for (const line of tables.flatMap((table) => table.split('\n'))) {
    const found = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]{2}) /.exec(line);
    if (found === null || Number.parseInt(found[1] ?? '', 16) !== port) continue;
    if (found[2] === states.established) established++;
    else if (found[2] === states.listen) listening = true;
  }
  return { established, listening };
}
