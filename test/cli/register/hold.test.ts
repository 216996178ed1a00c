import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Interruption } from '../../../src/cli/lifetime.js';
import { Hold, type HoldPlan, type Registration } from '../../../src/cli/register/hold.js';
import { systemClock } from '../../../src/core/model/clock.js';
import { LbctlError } from '../../../src/core/model/errors.js';

/** Generous, because a busy machine takes seconds to start a shell. */
const patience = { timeout: 15_000, interval: 5 };
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lbctl-hold-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A registry of one instance that says what it was told, and when it was asked to forget it. */
class Registry implements Registration {
  isUp = false;
  readonly log: string[];
  stops: () => Promise<void> = async () => undefined;
  refusal: unknown;

  constructor(log: string[]) {
    this.log = log;
  }
  start(refused: (error: unknown) => void): void {
    this.log.push('register');
    if (this.refusal) refused(this.refusal);
    else this.isUp = true;
  }
  withdraw(): void {
    this.log.push('withdraw');
    this.isUp = false;
  }
  restore(): void {
    this.log.push('restore');
    this.isUp = true;
  }
  async stop(): Promise<void> {
    await this.stops();
    this.log.push('gone');
    this.isUp = false;
  }
}

function holding(script: string | null, more: Partial<HoldPlan> = {}) {
  const log: string[] = [];
  const registry = new Registry(log);
  let interrupt: (cause: Interruption) => void = () => undefined;
  const hold = new Hold(
    {
      command: script === null ? [] : ['sh', '-c', `cd ${folder}\n${script}`],
      probe: null,
      target: 'tcp://test',
      drainDelayMs: 0,
      killAfterMs: 5000,
      hasTerminal: false,
      ...more,
    },
    {
      clock: systemClock,
      registration: registry,
      report: (state) => log.push(state),
      takeOver: (handler) => {
        interrupt = handler;
      },
    },
  );
  return { log, registry, code: hold.run(), interrupt: (cause: Interruption) => interrupt(cause) };
}

const appears = (name: string) => vi.waitFor(() => expect(existsSync(join(folder, name))).toBe(true), patience);
/** A server that says when it runs, and ends on a signal with a code that tells which. */
const server = `trap 'exit 15' TERM; trap 'exit 2' INT; trap 'echo reload >> hup' HUP; echo > up; while :; do sleep 0.02; done`;

describe('with a command', () => {
  it('SIGTERM: out of the registry, then the delay, then the signal; the exit code is the command’s', async () => {
    const { code, log, interrupt } = holding(server, { drainDelayMs: 150 });
    await appears('up');
    const before = performance.now();
    interrupt('SIGTERM');
    expect(await code).toBe(15);
    expect(performance.now() - before).toBeGreaterThanOrEqual(149);
    expect(log).toEqual(['started', 'register', 'gone', 'draining', 'stopping', 'ended']);
  });

  it('Ctrl-C passes SIGINT on', async () => {
    const { code, interrupt } = holding(server);
    await appears('up');
    interrupt('SIGINT');
    expect(await code).toBe(2);
  });

  it('a second Ctrl-C does not wait for the delay', async () => {
    const { code, log, interrupt } = holding(server, { drainDelayMs: 60_000 });
    await appears('up');
    interrupt('SIGTERM');
    await vi.waitFor(() => expect(log).toContain('draining'), patience);
    interrupt('SIGINT');
    expect(await code).toBe(15);
  });

  it('one more kills a command that does not end', async () => {
    const { code, log, interrupt } = holding(`trap '' TERM INT; echo > up; while :; do sleep 0.02; done`, {
      killAfterMs: 60_000,
    });
    await appears('up');
    interrupt('SIGINT');
    await vi.waitFor(() => expect(log).toContain('stopping'), patience);
    interrupt('SIGINT');
    expect(await code).toBe(137);
  });

  it('an etcd that does not answer does not hold the command up after a second Ctrl-C', async () => {
    const { code, registry, log, interrupt } = holding(server, { drainDelayMs: 60_000 });
    registry.stops = () => new Promise(() => undefined);
    await appears('up');
    interrupt('SIGINT');
    await new Promise((resolve) => setImmediate(resolve));
    interrupt('SIGINT');
    expect(await code).toBe(2);
    expect(log).toEqual(['started', 'register', 'left', 'draining', 'stopping', 'ended']);
  });

  it('the end of the command is the end of the registration', async () => {
    const { code, log } = holding('exit 42', { drainDelayMs: 60_000 });
    expect(await code).toBe(42);
    expect(log).toEqual(['started', 'register', 'ended', 'gone']);
  });

  it('a command that ends during the delay is not waited for', async () => {
    const { code, log, interrupt } = holding(`echo > up; while [ ! -e go ]; do sleep 0.01; done; exit 9`, {
      drainDelayMs: 60_000,
    });
    await appears('up');
    interrupt('SIGTERM');
    await vi.waitFor(() => expect(log).toContain('draining'), patience);
    writeFileSync(join(folder, 'go'), '');
    expect(await code).toBe(9);
  });

  it('a hang-up is for the command when there is no terminal, and an end when there was one', async () => {
    const daemon = holding(server);
    await appears('up');
    await vi.waitFor(() => expect(daemon.log).toEqual(['started', 'register']), patience);
    daemon.interrupt('SIGHUP');
    await appears('hup');
    expect(daemon.log).toEqual(['started', 'register']);
    daemon.interrupt('SIGTERM');
    expect(await daemon.code).toBe(15);

    rmSync(join(folder, 'up'));
    const person = holding(`trap 'exit 1' HUP; echo > up; while :; do sleep 0.02; done`, { hasTerminal: true });
    await appears('up');
    person.interrupt('SIGHUP');
    expect(await person.code).toBe(1);
    expect(person.log.indexOf('gone')).toBeLessThan(person.log.indexOf('stopping'));
  });

  it('a refusal by etcd ends the command, and is the error', async () => {
    const refusal = new LbctlError('ETCD_PERMISSION_DENIED', 'no');
    const log: string[] = [];
    const registry = new Registry(log);
    registry.refusal = refusal;
    const hold = new Hold(
      { command: ['sleep', '100'], probe: null, target: '', drainDelayMs: 0, killAfterMs: 1000, hasTerminal: false },
      { clock: systemClock, registration: registry, report: (state) => log.push(state), takeOver: () => undefined },
    );
    await expect(hold.run()).rejects.toBe(refusal);
    expect(log).toContain('ended');
  });

  it('a command that cannot be started is never registered', async () => {
    const { code, log } = holding(null, { command: [join(folder, 'nothing')] });
    await expect(code).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' });
    expect(log).toEqual([]);
  });
});

describe('with a health check', () => {
  const refused = async () => {
    throw new Error('refused');
  };

  it('registers once it is healthy, withdraws when it is not any more, and comes back', async () => {
    let probe: () => Promise<string> = refused;
    const { code, log, interrupt } = holding(null, { probe: () => probe() });
    await vi.waitFor(() => expect(log).toEqual(['waiting']), patience);
    probe = async () => 'ok';
    await vi.waitFor(() => expect(log).toEqual(['waiting', 'healthy', 'register']), patience);
    probe = refused;
    await vi.waitFor(() => expect(log.slice(3)).toEqual(['failing', 'unhealthy', 'withdraw']), patience);
    probe = async () => 'ok';
    await vi.waitFor(() => expect(log.slice(6)).toEqual(['healthy', 'restore']), patience);
    interrupt('SIGTERM');
    expect(await code).toBe(0);
    expect(log.slice(8)).toEqual(['gone']);
  });

  it('nothing is registered and nothing is waited for when the command dies before it is healthy', async () => {
    const { code, log } = holding('exit 3', { probe: refused, drainDelayMs: 60_000 });
    expect(await code).toBe(3);
    expect(log).not.toContain('register');
  });

  it('a command that was never healthy gets its signal at once: there is nothing to take back, nobody to wait for', async () => {
    const { code, log, interrupt } = holding(server, { probe: refused, drainDelayMs: 60_000 });
    await appears('up');
    interrupt('SIGTERM');
    expect(await code).toBe(15);
    expect(log).toEqual(['started', 'waiting', 'stopping', 'ended']);
  });

  it('warns when the address answers before the command was started', async () => {
    const { code, log } = holding('exit 98', { probe: async () => 'ok' });
    expect(await code).toBe(98);
    expect(log.slice(0, 2)).toEqual(['warning', 'started']);
  });
});

describe('without a command', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'EPIPE'] as const)(
    '%s takes the registration back and is no failure',
    async (cause) => {
      const { code, log, interrupt } = holding(null);
      interrupt(cause);
      expect(await code).toBe(0);
      expect(log).toEqual(['register', 'gone']);
    },
  );

  it('says so, as an error, when etcd did not confirm', async () => {
    const { code, registry, interrupt } = holding(null);
    registry.stops = () => Promise.reject(new LbctlError('ETCD_UNREACHABLE', 'gone'));
    interrupt('SIGTERM');
    await expect(code).rejects.toMatchObject({ code: 'ETCD_UNREACHABLE' });
  });
});
