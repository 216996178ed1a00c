// npm test: from a fresh clone to all suites run on a real etcd. `--fast` leaves the fault suite out.
import { ensureBuilt, ensureInstalled, main } from './steps.mjs';

await main(async () => {
  ensureInstalled();
  ensureBuilt();
  const { ensureEtcd } = await import('./etcd.mjs');
  const { ensureTmux } = await import('./tmux.mjs');
  const { counted, finish, suite } = await import('./suites.mjs');
  const { checks } = await import('./check.mjs');
  const etcd = ensureEtcd();
  process.stderr.write(`  etcd: ${etcd}\n`);
  ensureTmux();
  for (const check of checks) counted(check);
  suite('unit, contract and end-to-end tests', ['unit', 'contract', 'e2e'], { etcd });
  suite('calls under load', ['load'], { etcd });
  if (!process.argv.includes('--fast')) suite('fault tests', ['faults'], { etcd });
  finish();
});
