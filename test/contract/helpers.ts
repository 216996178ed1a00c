import type { Etcd3, IEvent, IKeyValue, IWatchCreateRequest, IWatchRequest, IWatchResponse } from 'etcd3';
import { connect } from './targets.js';

export const bytes = (text: string): Buffer => Buffer.from(text);

/** The end of the range of all keys that start with `prefix`; no case uses a prefix that ends in 0xff. */
export function prefixEnd(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return end;
}

export const everythingUnder = (prefix: string) => ({ key: bytes(prefix), range_end: prefixEnd(prefix) });

/** Puts, and answers the revision it made. */
export async function put(client: Etcd3, key: string, value: string, lease = '0'): Promise<number> {
  const { header } = await client.kv.put({ key: bytes(key), value: bytes(value), lease });
  return Number(header.revision);
}

export async function get(client: Etcd3, key: string): Promise<IKeyValue | undefined> {
  return (await client.kv.range({ key: bytes(key) })).kvs[0];
}

export const keysOf = (kvs: readonly IKeyValue[]): string[] => kvs.map((kv) => kv.key.toString());

/** The message of the refusal: `<code> <NAME>: <text of etcd>`. Fails when there was none. */
export async function refusalOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    (answer) => {
      throw new Error(`expected a refusal, got ${JSON.stringify(answer)}`);
    },
    (error: Error) => error.message,
  );
}

/** `PUT key=value` or `DELETE key`, with the revision. */
export const eventText = ({ type, kv }: IEvent): string =>
  type === 'Put' ? `PUT ${kv.key}=${kv.value}@${kv.mod_revision}` : `DELETE ${kv.key}@${kv.mod_revision}`;

/** One watch stream, read frame by frame, on a client of its own: etcd3 drops every channel when a stream is cancelled. */
export class WatchStream {
  readonly #client: Etcd3;
  readonly #stream: Awaited<ReturnType<Etcd3['watchClient']['watch']>>;
  readonly #frames: IWatchResponse[] = [];
  #wake: (() => void) | null = null;
  #ended: Error | null = null;

  static async open(endpoint: string): Promise<WatchStream> {
    const client = connect(endpoint);
    return new WatchStream(client, await client.watchClient.watch());
  }

  private constructor(client: Etcd3, stream: Awaited<ReturnType<Etcd3['watchClient']['watch']>>) {
    this.#client = client;
    this.#stream = stream;
    stream.on('data', (frame) => {
      this.#frames.push(frame);
      this.#wake?.();
    });
    stream.on('error', (error) => {
      this.#ended = error;
      this.#wake?.();
    });
  }

  send(request: IWatchRequest): void {
    this.#stream.write(request);
  }

  /** Creates a watcher and answers its created frame. */
  async create(request: IWatchCreateRequest): Promise<IWatchResponse> {
    this.send({ create_request: request });
    return this.next();
  }

  /** The next frame, whatever it is. */
  async next(): Promise<IWatchResponse> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame) return frame;
      if (this.#ended) throw this.#ended;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The next events, over as many frames as they take. */
  async events(count: number): Promise<IEvent[]> {
    const events: IEvent[] = [];
    while (events.length < count) events.push(...(await this.next()).events);
    return events;
  }

  end(): void {
    this.#stream.end();
  }

  cancel(): void {
    this.#stream.cancel();
    this.#client.close();
  }
}
