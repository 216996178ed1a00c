import { hostname } from 'node:os';
import { pid } from 'node:process';

/** Who writes a record: the one place where the core looks at the process that it runs in. */
export function thisProcess(): { readonly host: string; readonly pid: number } {
  return { host: hostname(), pid };
}
