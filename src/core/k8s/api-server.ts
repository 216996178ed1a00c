import { type IncomingMessage, request as requestHttp } from 'node:http';
import { type RequestOptions, request as requestHttps } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import type { Clock, Timer } from '../model/clock.js';
import { LbctlError, messageOf } from '../model/errors.js';
import type { KubernetesSettings } from './settings.js';

/** An answer of the API server other than 200. */
export class ApiError extends LbctlError {
  /** HTTP status, or the code of a `Status` object. */
  readonly status: number;

  constructor(status: number, message: string) {
    super('K8S_REFUSED', message);
    this.status = status;
  }
}

export interface ApiRequest {
  /** `/apis/…` with its query. */
  readonly path: string;
  /** For messages and RBAC: `list`, `watch`. */
  readonly verb: string;
  /** `endpointslices.discovery.k8s.io in namespace x`. */
  readonly resource: string;
  /** For the answer to begin. */
  readonly answerWithinMs: number;
  /** For the answer to end. */
  readonly endWithinMs: number;
  readonly signal: AbortSignal;
}

/**
 * The API server, over its own sockets. @kubernetes/client-node finds and applies the credentials; its own watch has no
 * deadline and swallows what the server says when it refuses. Sockets and timers do not hold the process: a call that
 * waits for its result does.
 */
export class ApiServer {
  readonly #settings: KubernetesSettings;
  readonly #clock: Clock;
  #config: KubeConfig | null = null;

  constructor(settings: KubernetesSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** The JSON of the answer. @throws as `lines`. */
  async get(request: ApiRequest): Promise<unknown> {
    let text = '';
    await this.#stream(request, (chunk) => {
      text += chunk;
    });
    return JSON.parse(text);
  }

  /**
   * Calls `onLines` with the JSON lines of each chunk, until the server ends the answer.
   * @throws ApiError when it refuses, K8S_UNREACHABLE when it does not answer, breaks off, or is too slow.
   */
  async lines(request: ApiRequest, onLines: (lines: readonly unknown[]) => void): Promise<void> {
    let rest = '';
    await this.#stream(request, (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      if (lines.length > 0) onLines(lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line)));
    });
  }

  async #stream(request: ApiRequest, onText: (chunk: string) => void): Promise<void> {
    const { verb, resource, signal, answerWithinMs, endWithinMs } = request;
    const abort = new AbortController();
    const stop = () => abort.abort();
    let isLate = false;
    const arm = (ms: number): Timer =>
      this.#clock.timer(ms, () => {
        isLate = true;
        stop();
      });
    let timer = arm(answerWithinMs);
    signal.addEventListener('abort', stop, { once: true });
    let server = 'the Kubernetes API';
    try {
      const config = this.#credentials();
      server = config.getCurrentCluster()?.server ?? 'no cluster';
      const response = await this.#send(config, server, request.path, abort.signal);
      response.setEncoding('utf8');
      if (response.statusCode === 200) {
        timer.cancel();
        timer = arm(endWithinMs);
        for await (const chunk of response) onText(chunk);
      } else {
        let text = '';
        for await (const chunk of response) text += chunk;
        throw this.#refusal(request, response.statusCode ?? 0, text);
      }
    } catch (error) {
      if (error instanceof LbctlError) throw error;
      const why = isLate ? 'it is silent' : messageOf(error) || String(Reflect.get(Object(error), 'code'));
      throw new LbctlError('K8S_UNREACHABLE', `Could not ${verb} ${resource} at ${server}: ${why}`, { cause: error });
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', stop);
      // A consumer that threw leaves an answer behind that would go on for a minute.
      stop();
    }
  }

  /** Read again after a refusal: a token or certificate may have been rotated. (client-node itself re-reads a token each minute.) */
  #credentials(): KubeConfig {
    if (this.#config !== null) return this.#config;
    const config = new KubeConfig();
    if (this.#settings.kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(this.#settings.kubeconfig);
    this.#config = config;
    return config;
  }

  async #send(config: KubeConfig, server: string, path: string, signal: AbortSignal): Promise<IncomingMessage> {
    const options: RequestOptions = { headers: { accept: 'application/json' }, signal };
    await config.applyToHTTPSOptions(options);
    const url = new URL(server.replace(/\/+$/, '') + path);
    return new Promise((resolve, reject) => {
      const sent = (url.protocol === 'http:' ? requestHttp : requestHttps)(url, options, resolve);
      sent.on('error', reject);
      sent.on('socket', (socket) => {
        // A peer that vanished without a word is found out by the kernel, 20 s later at most.
        socket.setKeepAlive(true, 10_000);
        socket.unref();
      });
      sent.end();
    });
  }

  #refusal({ verb, resource }: ApiRequest, status: number, text: string): ApiError {
    if (status === 401) this.#config = null;
    const said = statusMessage(text);
    const what = `The Kubernetes API refused to ${verb} ${resource} (${status}${said === '' ? '' : `: ${said}`})`;
    const help = status === 403 ? `; RBAC must allow this account the verbs list and watch on ${resource}` : '';
    return new ApiError(status, what + help);
  }
}

function statusMessage(text: string): string {
  try {
    return String(JSON.parse(text).message ?? '');
  } catch {
    return text.slice(0, 200).trim();
  }
}
