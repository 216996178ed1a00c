import { hostname, networkInterfaces } from 'node:os';
import { env, pid } from 'node:process';

/** Who writes a record: the one place where the core looks at the process that it runs in. */
export function thisProcess(): { readonly host: string; readonly pid: number } {
  return { host: hostname(), pid };
}

/** What tells the address of this machine (the shape of discovery's Machine). */
export function thisMachine() {
  return { interfaces: networkInterfaces, env };
}
