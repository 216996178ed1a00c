// A service under `lbctl register`, as a supervisor would restart it: `service-process.mjs DIR start|restart|stop`.
// DIR/config.json: {"args": [of lbctl], "endpoint"}; DIR/pid: the process that runs now. Restarting waits for the old one.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [dir, what] = process.argv.slice(2);
const { args, endpoint } = JSON.parse(readFileSync(join(dir, 'config.json'), 'utf8'));

/** Where process 1 reaps nobody, what was killed stays as a zombie. */
function isAlive(pid) {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

if (what !== 'start') {
  const pid = Number(readFileSync(join(dir, 'pid'), 'utf8'));
  if (isAlive(pid)) process.kill(pid, 'SIGTERM');
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
}
if (what !== 'stop') {
  const child = spawn(process.execPath, [fileURLToPath(new URL('../../bin/run.js', import.meta.url)), ...args], {
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, LBCTL_ENDPOINTS: endpoint },
  });
  writeFileSync(join(dir, 'pid'), String(child.pid));
  child.unref();
}
