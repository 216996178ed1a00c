/*
 * As much of the protocol buffers encoding as etcd's reads need: varints, and length-delimited fields.
 * Source: https://protobuf.dev/programming-guides/encoding/
 */

type Field = readonly [number: number, value: Buffer | string | bigint | boolean];

/** A message of these fields. As in proto3 a field with its default value is left out. */
export function encodeMessage(fields: readonly Field[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const [number, value] of fields) {
    if (typeof value === 'bigint' || typeof value === 'boolean') {
      const int = BigInt(value);
      if (int !== 0n) parts.push(varint(BigInt(number << 3)), varint(BigInt.asUintN(64, int)));
    } else if (value.length > 0) {
      const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
      parts.push(varint(BigInt((number << 3) | 2)), varint(BigInt(bytes.length)), bytes);
    }
  }
  return Buffer.concat(parts);
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  for (; value > 0x7fn; value >>= 7n) bytes.push(Number(value & 0x7fn) | 0x80);
  bytes.push(Number(value));
  return Uint8Array.from(bytes);
}

/** Walks over the fields of a message. A field whose value is not taken is skipped. @throws when the message is cut off. */
export class MessageReader {
  readonly #bytes: Buffer;
  #at = 0;
  #wireType = 0;
  #taken = true;
  /** Number of the field that `next` went to. */
  field = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Goes to the next field; false at the end. */
  next(): boolean {
    if (!this.#taken) this.#skip();
    if (this.#at >= this.#bytes.length) return false;
    const tag = this.#varint();
    this.field = tag >>> 3;
    this.#wireType = tag & 7;
    this.#taken = false;
    return true;
  }

  int64(): bigint {
    return BigInt.asIntN(64, this.uint64());
  }

  uint64(): bigint {
    this.#take(0);
    // Nearly all fit into 28 bits, where a number costs a tenth of a bigint.
    let small = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      small |= (byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt(small);
    }
    let value = BigInt(small);
    for (let shift = 28n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
  }

  bool(): boolean {
    return this.uint64() !== 0n;
  }

  /** Shares memory with the message. */
  bytes(): Buffer {
    this.#take(2);
    const length = this.#varint();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('the message is cut off');
    const value = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return value;
  }

  text(): string {
    return this.bytes().toString('utf8');
  }

  #take(wireType: number): void {
    if (this.#wireType !== wireType) throw new RangeError(`field ${this.field} has wire type ${this.#wireType}`);
    this.#taken = true;
  }

  #skip(): void {
    if (this.#wireType === 0) this.uint64();
    else if (this.#wireType === 2) this.bytes();
    else if (this.#wireType === 1 || this.#wireType === 5) {
      this.#at += this.#wireType === 1 ? 8 : 4;
      if (this.#at > this.#bytes.length) throw new RangeError('the message is cut off');
    } else throw new RangeError(`field ${this.field} has wire type ${this.#wireType}`);
  }

  /** Of a tag or a length, which fit into 32 bits. */
  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('a length is too large');
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new RangeError('the message is cut off');
    return byte;
  }
}
