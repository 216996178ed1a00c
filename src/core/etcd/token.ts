/**
 * The auth token that all calls of one connection share. Many calls that find it stale together cause one
 * authentication: on the server each costs a bcrypt.
 */
export class TokenSource {
  readonly #authenticate: () => Promise<string>;
  #pending: Promise<string> | null = null;
  #token: string | null = null;

  constructor(authenticate: () => Promise<string>) {
    this.#authenticate = authenticate;
  }

  get(): Promise<string> {
    this.#pending ??= this.#authenticate().then(
      (token) => {
        this.#token = token;
        return token;
      },
      (error: unknown) => {
        this.#pending = null;
        throw error;
      },
    );
    return this.#pending;
  }

  /** Forgets the token that was refused, unless another call has replaced it already. */
  invalidate(refused: string): void {
    if (refused !== this.#token) return;
    this.#token = null;
    this.#pending = null;
  }
}
