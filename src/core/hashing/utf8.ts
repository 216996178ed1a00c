const padding = 16;

/**
 * The one buffer that every text is encoded into before it is hashed, so that hashing a key allocates nothing.
 * Its content is valid until the next call of `encode`. 16 bytes of zeros follow the text.
 */
class Utf8Scratch {
  bytes = new Uint8Array(1024);
  words = new DataView(this.bytes.buffer);
  readonly #encoder = new TextEncoder();

  /** Encodes `text` and returns its length in bytes. A lone surrogate becomes U+FFFD, as everywhere in JavaScript. */
  encode(text: string): number {
    const needed = text.length * 3 + padding;
    if (this.bytes.length < needed) {
      this.bytes = new Uint8Array(needed * 2);
      this.words = new DataView(this.bytes.buffer);
    }
    const length = this.#ascii(text) ? text.length : this.#encoder.encodeInto(text, this.bytes).written;
    this.bytes.fill(0, length, length + padding);
    return length;
  }

  /** Most keys and all addresses are ASCII, where a loop beats the call into the encoder. */
  #ascii(text: string): boolean {
    const bytes = this.bytes;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x80) return false;
      bytes[i] = code;
    }
    return true;
  }
}

export const scratch = new Utf8Scratch();

/** Whether the UTF-8 bytes of `text` are its character codes. */
export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) return false;
  return true;
}
