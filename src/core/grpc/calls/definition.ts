import type { PackageDefinition } from '@grpc/proto-loader';
import { LbctlError, messageOf } from '../../model/errors.js';
import { type CallMethod, parseMethodName } from './method.js';

/** A method as proto-loader describes it. */
interface Definition {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(message: object): Buffer;
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
  const members = definitions[service];
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
  const fields = fieldsOf(definition);
  const message: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(data)) {
    // protobufjs would leave out what it does not know, and send a request that was never meant.
    const field = fields.find(({ name, jsonName }) => [name, jsonName].includes(key) || camelCase(key) === jsonName);
    if (field === undefined) {
      throw new LbctlError('USAGE', `The request has no field "${key}"`, {
        suggestions: [`Its fields: ${fields.map(({ jsonName }) => jsonName).join(', ') || 'none'}`],
      });
    }
    message[field.jsonName] = value;
  }
  try {
    return definition.requestSerialize(message);
  } catch (error) {
    throw new LbctlError('USAGE', `The data does not fit the request: ${messageOf(error)}`, { cause: error });
  }
}

function fieldsOf({ requestType }: Definition): Array<{ readonly name: string; readonly jsonName: string }> {
  const { field = [] } = requestType.type as { field?: ReadonlyArray<{ name: string; jsonName?: string }> };
  return field.map(({ name, jsonName }) => ({ name, jsonName: jsonName || camelCase(name) }));
}

/** As proto-loader names fields: digits stay where they are. */
function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
