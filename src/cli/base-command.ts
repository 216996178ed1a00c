import type { Interfaces } from '@oclif/core';
import { Command } from '@oclif/core/command';
import type { Etcd, EtcdSettings } from '../core/etcd/port.js';
import type { LbctlError } from '../core/model/errors.js';
import { sanitise } from '../core/model/sanitise.js';
import { resolveSettings } from './connection/settings.js';
import { renderError } from './errors.js';
import { exitCodeOf } from './exit-codes.js';
import { type ConnectionFlagValues, formatOf, type OutputFormat } from './flags.js';
import { type Lifetime, lifetime } from './lifetime.js';
import { createStyle, type Style } from './output/colour.js';
import { document, toJson, toNdjson, toYaml } from './output/structured.js';

/** How people see a result: how wide, in which colours, and as of when. */
export interface View {
  readonly style: Style;
  /** Columns of the terminal; undefined when stdout is no terminal. */
  readonly width: number | undefined;
  /** More columns were asked for with `-o wide`. */
  readonly wide: boolean;
  readonly nowMs: number;
}

/** What a verb gives back. Each format is made from it in one place. */
export interface Outcome {
  /** The document of the JSON contract, without `schemaVersion`; a list is several of them. */
  readonly document: object | readonly object[];
  /** For people (`-o table`, `-o wide`); ends with a newline, or is empty. */
  text(view: View): string | Promise<string>;
  /** The rows of `-o ndjson`; absent: the document on one line. */
  readonly rows?: readonly object[];
  /** The lines of `-o address`. */
  readonly addresses?: readonly string[];
  /** Told on stderr after the document; gives the exit code. */
  readonly error?: LbctlError;
  /** An exit code that is no error, or in place of the error's own (a child's). */
  readonly exitCode?: number;
}

function documents(of: object | readonly object[]): object {
  return Array.isArray(of) ? of.map((one: object) => document(one)) : document(of);
}

/** oclif's own bound for parsed flags and arguments, which it does not export. */
// biome-ignore lint/suspicious/noExplicitAny: an override has to accept what oclif's method accepts
type Outputs = Record<string, any>;

/**
 * The base of every verb. It mends what oclif does to scripts: exit codes are ours with and without `--json`, a closed
 * pipe ends the process, and nothing is read from stdin unasked. `perform()` returns what happened; the formats, the
 * exit code and the connection's end are seen to here.
 */
export abstract class BaseCommand extends Command {
  protected readonly lifetime: Lifetime = lifetime;
  protected format: OutputFormat = 'table';

  /** Does the work. A verb that printed as it went gives only its exit code. */
  protected abstract perform(): Promise<Outcome | number>;

  /** The exit code of the process. */
  override async run(): Promise<number> {
    const outcome = await this.perform();
    if (typeof outcome === 'number') return outcome;
    await this.show(outcome);
    return outcome.error ? this.fail(outcome.error, outcome.exitCode) : (outcome.exitCode ?? 0);
  }

  /** oclif would set an exit code and print: main does both, the same way for every error. */
  protected override async catch(error: Error): Promise<never> {
    throw error;
  }

  protected override async parse<F extends Outputs, B extends Outputs, A extends Outputs>(
    options?: Interfaces.Input<F, B, A>,
    argv?: string[],
  ): Promise<Interfaces.ParserOutput<F, B, A>> {
    const parsed = await super.parse<F, B, A>(options, argv);
    this.format = formatOf(parsed.flags);
    return parsed;
  }

  /** The shared connection; left when the process ends. etcd3 and gRPC are loaded here, by the verbs that need them. */
  protected async connect(flags: ConnectionFlagValues): Promise<Etcd> {
    return this.open(await this.settings(flags));
  }

  /** How etcd is reached, by flags and environment; what there is to say about them is told. */
  protected async settings(flags: ConnectionFlagValues): Promise<EtcdSettings> {
    const { etcd, warnings } = await resolveSettings(flags, process.env);
    for (const warning of warnings) this.tell(`Warning: ${warning}`);
    return etcd;
  }

  protected async open(settings: EtcdSettings): Promise<Etcd> {
    const { connect } = await import('../core/etcd/connection.js');
    const etcd = await connect(settings);
    this.lifetime.defer(() => etcd.close());
    return etcd;
  }

  /** The document, in the format asked for. */
  protected async show(outcome: Outcome): Promise<void> {
    this.print(await this.write(outcome));
  }

  /** Data, to stdout. */
  protected print(text: string): void {
    if (text !== '') process.stdout.write(text);
  }

  /** Progress and warnings, one line to stderr; `fields` for whoever asked for JSON, so that all of stderr parses. */
  protected tell(line: string, fields: object = { message: line }): void {
    const text = /json$/.test(this.format) ? toJson(document(fields), 0) : sanitise(line);
    process.stderr.write(`${text}\n`);
  }

  /** Tells an error without throwing away what was printed before it; gives the exit code. */
  protected fail(error: LbctlError, exitCode = exitCodeOf[error.code]): number {
    process.stderr.write(renderError(error, { json: /json$/.test(this.format), exitCode }));
    return exitCode;
  }

  protected async view(): Promise<View> {
    return {
      style: await createStyle(process.stdout.isTTY === true, process.env),
      width: process.stdout.isTTY ? process.stdout.columns : undefined,
      wide: this.format === 'wide',
      nowMs: Date.now(),
    };
  }

  private async write(outcome: Outcome): Promise<string> {
    switch (this.format) {
      case 'json':
        return `${toJson(documents(outcome.document))}\n`;
      case 'yaml':
        return toYaml(documents(outcome.document));
      case 'ndjson':
        return toNdjson((outcome.rows ?? [outcome.document]).map(document));
      case 'address':
        return (outcome.addresses ?? []).map((address) => `${sanitise(address)}\n`).join('');
      default:
        return outcome.text(await this.view());
    }
  }
}
