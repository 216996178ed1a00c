// Installs Debian packages where there is apt and a way to be root.
import { quietStep, which } from './steps.mjs';

/** False when they could not be installed; why is on stderr. */
export function aptInstall(...packages) {
  if (!which('apt-get')) return false;
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = (...args) => {
    const [command, ...rest] = [...asRoot, 'apt-get', ...args];
    quietStep(`apt-get ${args[0]} ${args.at(-1)}`, command, rest, {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  };
  try {
    apt('update', '-q');
    apt('install', '-q', '-y', '--no-install-recommends', ...packages);
    return true;
  } catch (error) {
    process.stderr.write(`  ${error.message}\n`);
    return false;
  }
}
