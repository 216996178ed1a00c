import type { ServiceEvent } from '../discovery/observe.js';
import type { Instance } from '../model/instance.js';
import type { LogEntry } from '../operations/log.js';
import type { HistoryEvent } from './frame.js';

const eventsOfOne = 50;
const mostRows = 2000;
/** The log's entry and the pause itself are of one transaction; their clocks are those of one process. */
const sameMs = 5000;

/** What happened to each instance, as far back as its service's records go. Bounded in rows and events. */
export class History {
  readonly #rows = new Map<string, HistoryEvent[]>();

  /** Oldest first. */
  of(id: string): readonly HistoryEvent[] {
    return this.#rows.get(id) ?? [];
  }

  /** What was so before anybody looked: entries of the log, and what the instances say of themselves. */
  seed(entries: readonly LogEntry[], instances: readonly (readonly [id: string, Instance])[]): void {
    const seeds: HistoryEvent[] = [];
    for (const [id, { address, since, pause }] of instances) {
      const own = entries.filter(({ addresses }) => addresses.includes(address));
      const isLogged = (at: string) =>
        own.some((entry) => Math.abs(Date.parse(entry.at) - Date.parse(at)) < sameMs && entry.verb !== 'resume');
      if (since !== null && pause?.strategy !== 'withdrawn') seeds.push({ id, at: since, text: 'registered' });
      if (pause && pause.at !== '' && !isLogged(pause.at)) {
        seeds.push({ id, at: pause.at, text: `paused${by(pause.by)}${because(pause.reason)}` });
      }
      for (const entry of own) {
        seeds.push({ id, at: entry.at, text: `${entry.what}${by(entry.by)}${because(entry.reason)}` });
      }
    }
    seeds.sort((a, b) => Date.parse(a.at ?? '') - Date.parse(b.at ?? ''));
    for (const event of seeds) this.#add(event);
  }

  happened(id: string, event: ServiceEvent, nowMs: number): void {
    if (event.type === 'SNAPSHOT') return;
    this.#add({ id, at: new Date(nowMs).toISOString(), text: event.cause });
  }

  #add(event: HistoryEvent): void {
    const events = this.#rows.get(event.id) ?? [];
    // The newest row last: whoever has been quiet for longest is forgotten first.
    this.#rows.delete(event.id);
    this.#rows.set(event.id, [...events, event].slice(-eventsOfOne));
    if (this.#rows.size <= mostRows) return;
    for (const id of this.#rows.keys()) {
      this.#rows.delete(id);
      return;
    }
  }
}

function by(name: string): string {
  return name === '' ? '' : ` by ${name}`;
}

function because(reason: string): string {
  return reason === '' ? '' : `: ${reason}`;
}
