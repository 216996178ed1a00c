/** Every document of ours carries this; it rises when a field is renamed or removed. */
export const schemaVersion = 1;

/** What a terminal acts on, or cannot show: controls, bidi overrides and invisible ones, halves of characters. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const unsafeInYaml = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/** JSON.stringify itself escapes C0 controls and halves of characters; the rest is valid JSON either way. */
const unsafeInJson = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** One JSON text. A bigint (int64) becomes a decimal string. */
export function toJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, bigintAsText, indent).replace(unsafeInJson, (character) => {
    let escaped = '';
    for (let index = 0; index < character.length; index++) {
      escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
    }
    return escaped;
  });
}

export function toNdjson(values: readonly unknown[]): string {
  return values.map((value) => `${toJson(value, 0)}\n`).join('');
}

/** YAML of the same document, as safe on a terminal. */
export async function toYaml(value: unknown): Promise<string> {
  const { Document, visit } = await import('yaml');
  const content = new Document(JSON.parse(JSON.stringify(value, bigintAsText)));
  // Escapes exist only inside double quotes: text that needs one is put there, keys included.
  visit(content, {
    Scalar(_key, node) {
      if (typeof node.value === 'string' && unsafe.test(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  return content.toString({ lineWidth: 0 }).replace(unsafeInYaml, (character) => {
    return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
  });
}

/** A document of the JSON contract: `schemaVersion` first. */
export function document<T extends object>(fields: T): { schemaVersion: number } & T {
  return { schemaVersion, ...fields };
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
