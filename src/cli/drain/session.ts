import { parseTimeout } from '../../core/model/duration.js';
import type { DrainPorts, DrainResult } from '../../core/operations/drain/request.js';
import type { Outcome } from '../base-command.js';
import type { Lifetime } from '../lifetime.js';
import { drainOutcome, lastWords } from './outcome.js';
import { drainPorts } from './ports.js';

export interface DrainSession {
  readonly lifetime: Lifetime;
  readonly killAfter: string;
  /** Our stdout is a document. */
  readonly isStructured: boolean;
  /** `fields` for whoever asked for JSON. */
  readonly tell: (line: string, fields?: object) => void;
}

/** Runs a drain or a roll with this process around it; what is left to do is said last. */
export async function drainSession(
  { lifetime, killAfter, isStructured, tell }: DrainSession,
  run: (ports: DrainPorts) => Promise<DrainResult>,
): Promise<Outcome> {
  const killAfterMs = parseTimeout(killAfter, '--kill-after');
  const { ports, lines } = drainPorts({ lifetime, killAfterMs, isStructured }, tell);
  // A Ctrl-C leaves a state behind that has to be told.
  lifetime.finishByItself();
  const result = await run(ports).finally(() => lines.stop());
  for (const line of lastWords(result)) tell(line);
  return drainOutcome(result, lifetime.exitCode);
}
