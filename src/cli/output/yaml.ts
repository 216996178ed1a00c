import { Document, visit } from 'yaml';

/** What a terminal acts on, or cannot show; the line breaks of YAML itself are not in it. */
const unsafe = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** YAML of what a JSON text says, as safe on a terminal as that. Loaded only where YAML is asked for. */
export function yamlOfJson(json: string): string {
  const content = new Document(JSON.parse(json));
  // Escapes exist only inside double quotes: text that needs one is put there, keys included.
  visit(content, {
    Scalar(_key, node) {
      if (typeof node.value === 'string' && /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(node.value)) {
        node.type = 'QUOTE_DOUBLE';
      }
    },
  });
  return content.toString({ lineWidth: 0 }).replace(unsafe, (character) => {
    return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
  });
}
