import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';

/**
 * Adapter on node:http and node:https: healthy is a status of 200 to 399, as Kubernetes has it; a redirect is not
 * followed, the body is not read. Each probe is a new connection: a pooled one would hide that nobody accepts any more.
 */
export function probeHttp(url: string, signal: AbortSignal): Promise<string> {
  const get = url.startsWith('https:') ? getHttps : getHttp;
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, signal, headers: { 'user-agent': 'lbctl' } }, (response) => {
      const status = response.statusCode ?? 0;
      // An abort or a reset after the headers must not become an uncaught error.
      response.on('error', () => undefined);
      response.destroy();
      if (status >= 200 && status < 400) resolve(`answers ${status}`);
      else reject(new Error(`answers ${status}`));
    });
    request.on('error', (error) => reject(signal.aborted ? new Error('no answer in time') : error));
  });
}
