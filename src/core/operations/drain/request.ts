import type { DiscoveryPorts } from '../../discovery/ports.js';
import type { DiscoveryOptions } from '../../discovery/service-ranges.js';
import type { Probe } from '../../health/probe.js';
import type { HealthTarget } from '../../health/target.js';
import type { HostPort } from '../../host/this-host.js';
import type { LbctlError } from '../../model/errors.js';
import type { Instance } from '../../model/instance.js';
import type { Minimum } from '../minimum.js';
import type { OperationInstance, OperationResult } from '../result.js';
import type { StrategyChoice } from '../strategy.js';
import type { DrainProgress } from './wait.js';

export interface DrainRequest extends DiscoveryOptions {
  readonly service: string;
  /** Addresses, ids, keys, `zone=…`, `host=…`. */
  readonly selectors: readonly string[];
  /** Who drains, for others to see: `user@host`. */
  readonly by: string;
  readonly reason: string;
  readonly minAvailable: Minimum;
  /** How to take out what lbctl does not own. */
  readonly strategy: StrategyChoice;
  /** Which of these answer a probe: only they count for the guard. Absent: all that are up. */
  readonly answering?: (instances: readonly Instance[]) => Promise<ReadonlySet<string>>;
  /** How long it is watched that they stay out. Absent: as `pauseInstances` does it. */
  readonly verifyMs?: number;
  /** Each wait: for the conditions, and for the instance to be back and healthy. */
  readonly waitMs: number;
  /** Wait until no connection on the port is established; the instances must be on this host. */
  readonly untilIdle: boolean;
  /** 0: none. */
  readonly graceMs: number;
  /** What is run once an instance is drained; it is then waited for and resumed. Null: it stays paused. */
  readonly command: readonly string[] | null;
  /** What `parseHealthTarget` reads. */
  readonly health: string;
  /** What happens to an instance that was paused when something fails later, a Ctrl-C included. */
  readonly onFailure: 'keep' | 'resume';
  readonly verb: 'drain' | 'roll';
  /** Plan and stop there. */
  readonly dryRun?: boolean;
  readonly signal: AbortSignal;
}

/** Which instance a command is run for. */
export interface CommandTarget {
  readonly service: string;
  readonly address: string;
  readonly id: string;
}

/** What a drain needs of the outside besides etcd. */
export interface DrainPorts extends DiscoveryPorts {
  /** This process, in the claim. */
  readonly process: { readonly host: string; readonly pid: number };
  readonly host: HostPort;
  readonly probeFor: (target: HealthTarget) => Probe;
  /**
   * Runs the command to its end; when `signal` aborts it is ended. Resolves with its exit code.
   * @throws COMMAND_NOT_FOUND, COMMAND_NOT_EXECUTABLE, WRAPPER_FAILED
   */
  readonly run: (command: readonly string[], target: CommandTarget, signal: AbortSignal) => Promise<number>;
  readonly progress: (progress: DrainProgress) => void;
  /** What is about to be taken out, how, and why like that. */
  readonly planned: (instances: readonly OperationInstance[]) => void;
  /** They are out. */
  readonly paused: (result: OperationResult) => void;
  /** A line for people. */
  readonly tell: (line: string) => void;
}

export interface DrainInstance extends Omit<OperationInstance, 'state'> {
  /** `unknown`: etcd did not say. */
  readonly state: OperationInstance['state'] | 'unknown';
}

export interface DrainResult {
  readonly service: string;
  readonly instances: readonly DrainInstance[];
  /** With `planned`: how many are up, would be left, and must be. */
  readonly guard?: { readonly up: number; readonly left: number; readonly needed: number };
  /** `joined`: somebody else's drain of the same command did it. `failed`, `interrupted`: of one instance at least. */
  readonly outcome: 'done' | 'joined' | 'planned' | 'failed' | 'interrupted';
  readonly error: LbctlError | null;
  /** Of the command, when that is what failed. */
  readonly exitCode?: number;
}
