import { systemPorts } from '../../core/discovery/ports.js';
import { probeFor } from '../../core/health/probe.js';
import { thisHost } from '../../core/host/this-host.js';
import { thisProcess } from '../../core/host/this-process.js';
import type { DrainPorts } from '../../core/operations/drain/request.js';
import { cleanedRemarks, strategyRemarks } from '../steering/steering.js';
import { DrainProgressLines } from './progress.js';
import { commandRunner, type RunContext } from './run-command.js';

/** The outside of a drain: this process, this host, this terminal. */
export function drainPorts(
  context: Omit<RunContext, 'tell'>,
  tell: (line: string, fields?: object) => void,
): { readonly ports: DrainPorts; readonly lines: DrainProgressLines } {
  const lines = new DrainProgressLines(process.stderr.isTTY === true && !context.isStructured, tell);
  const say = (line: string) => {
    lines.clear();
    tell(line);
  };
  const ports: DrainPorts = {
    ...systemPorts,
    process: thisProcess(),
    host: thisHost,
    probeFor,
    run: commandRunner({ ...context, tell: say }),
    progress: (progress) => lines.add(progress),
    planned: (instances) => {
      for (const line of strategyRemarks(instances)) say(line);
    },
    paused: (result) => {
      for (const line of cleanedRemarks(result)) say(line);
    },
    tell: say,
  };
  return { ports, lines };
}
