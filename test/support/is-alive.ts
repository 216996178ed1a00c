import { readFileSync } from 'node:fs';

/** Whether a process runs. A zombie does not: in a container it may be that nobody reaps it. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
