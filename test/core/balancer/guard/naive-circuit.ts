type Call = { id: number; phase: number };

/** The rules of the health checker as a story told in events: kept as a list, read from the start each time. */
export class NaiveCircuit {
  state: 'closed' | 'open' | 'half-open' = 'closed';
  phase = 0;
  #since = 0;
  #inARow = 0;
  #probe: { id: number; at: number } | null = null;

  /** Time passes: 10 s after it opened it is half-open; a probe without an outcome is given up after 10 s. */
  tick(now: number): void {
    if (this.state === 'open' && now - this.#since >= 10_000) this.#become('half-open', now, false);
    if (this.#probe && now - this.#probe.at >= 10_000) this.#probe = null;
  }

  admits(): boolean {
    return this.state === 'closed' || (this.state === 'half-open' && this.#probe === null);
  }

  start(id: number, now: number): Call {
    if (this.state === 'half-open' && this.#probe === null) this.#probe = { id, at: now };
    return { id, phase: this.phase };
  }

  abandon(call: Call): void {
    if (this.#probe?.id === call.id) this.#probe = null;
  }

  end(call: Call, failed: boolean, now: number): void {
    if (call.phase !== this.phase) return;
    if (!failed) {
      this.#inARow = 0;
      if (this.state !== 'closed') this.#become('closed', now, true);
    } else if (this.state === 'half-open') this.#become('open', now, true);
    else if (this.state === 'closed') {
      this.#inARow += 1;
      if (this.#inARow === 3) this.#become('open', now, true);
    }
  }

  #become(state: NaiveCircuit['state'], now: number, isNews: boolean): void {
    this.state = state;
    this.#since = now;
    this.#inARow = 0;
    this.#probe = null;
    if (isNews) this.phase += 1;
  }
}
