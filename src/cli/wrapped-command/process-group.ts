import { readdirSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { type Clock, sleep } from '../../core/model/clock.js';

/** Signals every process of the group; false when there is none left. */
export function signalGroup(groupId: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-groupId, signal);
    return true;
  } catch (error) {
    // EPERM: there are members, all of other users (a setuid program); nothing more can be done about them.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether a process of the group runs. Zombies do not count: where process 1 reaps nobody they would stay for ever. */
export function groupIsAlive(groupId: number): boolean {
  if (!signalGroup(groupId, 0)) return false;
  return platform() !== 'linux' || membersOf(groupId).length > 0;
}

/** Waits until the group is gone or `timeoutMs` passed; tells whether it is gone. */
export async function groupGone(groupId: number, timeoutMs: number, clock: Clock): Promise<boolean> {
  const deadline = clock.monotonic() + timeoutMs;
  while (groupIsAlive(groupId)) {
    if (clock.monotonic() >= deadline) return false;
    await sleep(clock, 50);
  }
  return true;
}

function membersOf(groupId: number): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    const [state, , group] = statOf(pid);
    return Number(group) === groupId && state !== 'Z' && state !== 'X';
  });
}

/** State, parent, process group, … of `/proc/<pid>/stat`: what follows the name, which may hold blanks and brackets. */
function statOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
