import type { PackageDefinition } from '@grpc/proto-loader';
import { LbctlError, messageOf } from '../../model/errors.js';
import { type CallMethod, parseMethodName } from './method.js';

/** A method as proto-loader describes it. */
interface Definition {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(message: object): Buffer;
  requestDeserialize(bytes: Buffer): object;
  readonly requestType: { readonly type: object };
}

/**
 * The method `name` of `definitions` with `data` as its request.
 * @throws NOT_FOUND with the methods there are; USAGE for a streaming method and for data that does not fit the message.
 */
export function methodOf(definitions: PackageDefinition, name: string, data: unknown): CallMethod {
  const { service, method } = parseMethodName(name);
  const known = Object.entries(definitions).flatMap(([of, members]) =>
    'format' in members ? [] : Object.keys(members).map((member) => `${of}/${member}`),
  );
  const members = Object.hasOwn(definitions, service) ? definitions[service] : undefined;
  const found = members && !('format' in members) && Object.hasOwn(members, method) ? members[method] : undefined;
  if (found === undefined) {
    const suggestions = known.length === 0 ? [] : [`Methods there: ${known.slice(0, 20).join(', ')}`];
    throw new LbctlError('NOT_FOUND', `There is no method ${service}/${method}`, { suggestions });
  }
  const definition = found as unknown as Definition;
  if (definition.requestStream || definition.responseStream) {
    throw new LbctlError('USAGE', `${service}/${method} is a streaming method, and only unary ones are called`, {
      suggestions: [`Unary or not: ${known.join(', ')}`],
    });
  }
  return {
    path: definition.path,
    request: requestOf(definition, data),
    verdict: () => null,
    answers: [],
  };
}

function requestOf(definition: Definition, data: unknown): Buffer {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new LbctlError('USAGE', 'The data of a call is a JSON object', {
      suggestions: [`Write it like --data '{"name": "ann"}'.`],
    });
  }
  const message = inCamelCase(data) as object;
  let request: Buffer;
  try {
    request = definition.requestSerialize(message);
  } catch (error) {
    throw misfit(messageOf(error), definition);
  }
  // protobufjs leaves out what it does not know and turns what does not fit into something else: what it made of the data is read
  // back, so that no request is sent that was never meant.
  const wrong = firstDifference(message, definition.requestDeserialize(request), '');
  if (wrong !== null) throw misfit(wrong, definition);
  return request;
}

function misfit(why: string, definition: Definition): LbctlError {
  return new LbctlError('USAGE', `The data does not fit the request: ${why}`, {
    suggestions: [`Its fields: ${fieldsOf(definition).join(', ') || 'none'}`],
  });
}

/** JSON may spell fields as the .proto does or in camelCase. Keys of maps are no fields, and stay when they have no underscore. */
function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [camelCase(key), inCamelCase(of)]));
}

/** Where what was sent is not what was meant, in words; null when it is. */
function firstDifference(meant: unknown, sent: unknown, path: string): string | null {
  if (meant === null || meant === undefined) return null;
  if (Array.isArray(meant)) {
    if (!Array.isArray(sent) || sent.length !== meant.length) return `"${path}" is not a list there`;
    return first(meant.map((one, i) => firstDifference(one, sent[i], `${path}[${i}]`)));
  }
  if (typeof meant === 'object') {
    if (typeof sent !== 'object' || sent === null) return `"${path}" is not an object there`;
    return first(
      Object.entries(meant).map(([key, of]) => {
        const at = path === '' ? key : `${path}.${key}`;
        return key in sent
          ? firstDifference(of, (sent as Record<string, unknown>)[key], at)
          : `it has no field "${at}"`;
      }),
    );
  }
  return isSame(meant, sent) ? null : `"${path}" would be sent as ${JSON.stringify(sent)}`;
}

function first(differences: readonly (string | null)[]): string | null {
  return differences.find((difference) => difference !== null) ?? null;
}

function isSame(meant: unknown, sent: unknown): boolean {
  // int64 comes back as text, float with the precision it has, an enum by name.
  if (typeof meant === 'number' && typeof sent === 'number') return meant === sent || Math.fround(meant) === sent;
  if (typeof meant === 'number') return typeof sent === 'string' && (String(meant) === sent || !/^-?\d/.test(sent));
  if (typeof meant === 'string' && typeof sent === 'number') return Number(meant) === sent && meant.trim() !== '';
  return meant === sent;
}

/** The names of the fields, as JSON has them. */
function fieldsOf({ requestType }: Definition): string[] {
  const { field = [] } = requestType.type as { field?: ReadonlyArray<{ name: string }> };
  return field.map(({ name }) => camelCase(name));
}

/** As proto-loader names fields: digits stay where they are. */
function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
