// npm start: from a fresh clone to the running demo. `npm start -- --duration 5s` passes flags on.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { ensureBuilt, ensureInstalled, main, root } from './steps.mjs';

await main(() => {
  ensureInstalled();
  ensureBuilt();
  process.stderr.write('» lbctl demo\n');
  const demo = spawn(process.execPath, [path.join(root, 'bin/run.js'), 'demo', ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  // A terminal signals the whole group; anything else reaches only us, so it is passed on.
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => demo.kill(signal));
  demo.on('exit', (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else process.exitCode = code ?? 1;
  });
});
