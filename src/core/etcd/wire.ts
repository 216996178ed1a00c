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

/** Walks over the fields of a message; a value is only made when it is asked for, once or more. */
export class MessageReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #next: number;
  /** Of a varint: its 64 bits, in halves. Arithmetic on bigints would cost more than all other reading. */
  #low = 0;
  #high = 0;
  /** Of a length-delimited field: where it is. */
  #from = 0;
  #to = 0;
  /** Number of the field that `next` went to. */
  field = 0;

  constructor(bytes: Buffer, from = 0, to = bytes.length) {
    this.#bytes = bytes;
    this.#next = from;
    this.#end = to;
  }

  /** Goes to the next field; false at the end. @throws RangeError when the message is cut off, or is none. */
  next(): boolean {
    if (this.#next >= this.#end) return false;
    this.#varint();
    this.field = this.#low >>> 3;
    const wireType = this.#low & 7;
    this.#from = this.#to = this.#next;
    if (wireType === 0) {
      this.#varint();
      return true;
    }
    if (wireType === 2) {
      this.#varint();
      this.#from = this.#next;
      this.#to = this.#from + (this.#low >>> 0);
    } else if (wireType === 1 || wireType === 5) {
      this.#to = this.#next + (wireType === 1 ? 8 : 4);
    } else {
      throw new RangeError(`field ${this.field} has wire type ${wireType}`);
    }
    if (this.#to > this.#end) throw cutOff();
    this.#next = this.#to;
    this.#low = this.#high = 0;
    return true;
  }

  uint64(): bigint {
    const low = this.#low >>> 0;
    return this.#high === 0 ? BigInt(low) : (BigInt(this.#high >>> 0) << 32n) | BigInt(low);
  }

  int64(): bigint {
    return BigInt.asIntN(64, this.uint64());
  }

  bool(): boolean {
    return this.#low !== 0 || this.#high !== 0;
  }

  text(): string {
    return this.#bytes.toString('utf8', this.#from, this.#to);
  }

  /** Shares memory with the message. */
  bytes(): Buffer {
    return this.#bytes.subarray(this.#from, this.#to);
  }

  message(): MessageReader {
    return new MessageReader(this.#bytes, this.#from, this.#to);
  }

  #varint(): void {
    this.#low = this.#high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#next < this.#end ? this.#bytes[this.#next++] : undefined;
      if (byte === undefined) throw cutOff();
      const bits = byte & 0x7f;
      if (shift < 32) this.#low |= bits << shift;
      if (shift > 25) this.#high |= shift < 32 ? bits >>> (32 - shift) : bits << (shift - 32);
      if (byte < 0x80) return;
    }
    throw new RangeError('a number is too large');
  }
}

function cutOff(): RangeError {
  return new RangeError('the message is cut off');
}
