/** A process that wraps a command and waits for it: `wrapper.ts KILL_AFTER_MS CMD…`, for tests that kill it. */
import { WrappedCommand } from '../../src/cli/wrapped-command/wrapped-command.js';
import { systemClock } from '../../src/core/model/clock.js';

const [killAfterMs, ...command] = process.argv.slice(2);
const wrapped = await WrappedCommand.start(command, {
  clock: systemClock,
  killAfterMs: Number(killAfterMs),
  onUnguarded: (error) => {
    throw error;
  },
});
process.stdout.write('guarded\n');
await wrapped.ended;
