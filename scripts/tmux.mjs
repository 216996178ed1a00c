// Finds tmux for the tests of real terminals, or installs it. CI must have it; elsewhere those tests are skipped.
import { aptInstall } from './apt.mjs';
import { which } from './steps.mjs';

/** @throws in CI when there is no tmux and none can be installed. */
export function ensureTmux() {
  if (which('tmux')) return;
  if (aptInstall('tmux') && which('tmux')) return;
  const message = 'Real terminals are not tested without tmux: apt-get install tmux, or brew install tmux';
  if (process.env.CI) throw new Error(message);
  process.stderr.write(`  ${message}\n`);
}
