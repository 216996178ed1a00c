import { createRequire } from 'node:module';
import { Publisher } from '../core/discovery/publisher.js';
import type { PublisherOptions } from '../core/discovery/publisher-options.js';
import { connect } from '../core/etcd/connection.js';
import type { EtcdSettings } from '../core/etcd/port.js';
import { thisProcess } from '../core/host/this-process.js';

/** What `register` registers: a publisher's options, in which the owner is this process unless told. */
export type RegisterOptions = Omit<PublisherOptions, 'owner'> & Partial<Pick<PublisherOptions, 'owner'>>;

/** An instance that stays registered until it is stopped. */
export interface Registration {
  /** To pause it, or to listen to its changes. */
  readonly publisher: Publisher;
  /**
   * Takes the instance out of etcd and ends the connection; at most 3 s when etcd does not answer, and then the lease
   * runs out by itself.
   */
  stop(): Promise<void>;
}

/**
 * Registers an instance over a connection of its own, and resolves once clients can see it (or a pause record that was
 * there already keeps it out). From then on it is held whatever happens to etcd.
 * @throws USAGE for what cannot be registered, WRITE_CONFLICT when the id belongs to somebody else, ETCD_*.
 */
export async function register(etcd: EtcdSettings, options: RegisterOptions): Promise<Registration> {
  const connection = await connect(etcd);
  try {
    const publisher = new Publisher(connection, { owner: owner(), ...options });
    await publisher.start();
    return {
      publisher,
      async stop() {
        await publisher.stop();
        await connection.close();
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function owner(): PublisherOptions['owner'] {
  // By the package's own name: the path to package.json differs between sources and build.
  const { version } = createRequire(import.meta.url)('lbctl/package.json') as { version: string };
  return { ...thisProcess(), version };
}
