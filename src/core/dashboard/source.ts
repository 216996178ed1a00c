import type { Frame } from './frame.js';

/** Where a dashboard gets its frames. */
export interface DashboardSource {
  /** What is known now. Cheap: asked ten times a second at most. */
  frame(): Frame;
  /** `listener` is called when something happened that should not wait for the next refresh. Returns how to stop it. */
  onNews(listener: () => void): () => void;
  /** The row whose `detail` the frames are to carry; null for none. */
  look(id: string | null): void;
  /** The clients that can be looked through, by name; empty when the source is not clients. */
  views(): readonly string[];
  /** Looks through one of `views()`; null for all added up. */
  select(view: string | null): void;
  /** When nothing more will come: a recording, a pipe. Absent: it never ends by itself. */
  readonly ended?: Promise<void> | undefined;
  /** Ends everything that feeds it; idempotent, bounded in time. */
  close(): Promise<void>;
}
