/**
 * The part of the protobuf wire format that the messages of Envoy need.
 * Source: https://protobuf.dev/programming-guides/encoding/
 */

/** A field of a message. Varints and fixed-width values have no bytes, because the decision uses no such field. */
type Field = { readonly number: number; readonly bytes: Buffer | undefined }

/** The bytes are not a valid message. */
export class MalformedMessage extends Error {
  readonly code = 'MALFORMED_MESSAGE'
}

const VARINT = 0
const FIXED_64 = 1
const LENGTH_DELIMITED = 2
const FIXED_32 = 5
const MAX_VARINT_BYTES = 10

/**
 * Reads the fields of a message in order. Fields of unknown numbers are included.
 * @throws {MalformedMessage} for a truncated field, a field number 0, a group or an overlong varint.
 */
export function* readFields(message: Buffer): Generator<Field> {
  let at = 0
  const readVarint = (): number => {
    let value = 0
    for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
      const byte = message[at]
      if (byte === undefined) break
      at += 1
      // Lengths and field numbers have at most 5 bytes. The value of a longer varint is not used.
      value += (byte & 0x7f) * 2 ** (7 * index)
      if (byte < 0x80) return value
    }
    throw new MalformedMessage('a varint is truncated or too long')
  }
  const take = (length: number): Buffer => {
    if (length > message.length - at) throw new MalformedMessage('a field is truncated')
    at += length
    return message.subarray(at - length, at)
  }
  while (at < message.length) {
    const tag = readVarint()
    const number = Math.floor(tag / 8)
    if (number === 0) throw new MalformedMessage('a field has the number 0')
    const wireType = tag % 8
    let bytes: Buffer | undefined
    if (wireType === VARINT) readVarint()
    else if (wireType === FIXED_64) take(8)
    else if (wireType === LENGTH_DELIMITED) bytes = take(readVarint())
    else if (wireType === FIXED_32) take(4)
    else throw new MalformedMessage(`a field has the wire type ${wireType}`)
    yield { number, bytes }
  }
}

/** Encodes a field with bytes, a text (UTF-8) or a nested message (the parts of the message). */
export function encodeField(number: number, value: string | readonly Buffer[]): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : Buffer.concat(value)
  return Buffer.concat([encodeVarint(number * 8 + LENGTH_DELIMITED), encodeVarint(bytes.length), bytes])
}

/** Encodes a field with an integer or an enum value that is not negative. */
export function encodeInteger(number: number, value: number): Buffer {
  return Buffer.concat([encodeVarint(number * 8 + VARINT), encodeVarint(value)])
}

function encodeVarint(value: number): Buffer {
  const bytes: number[] = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) {
      bytes.push(rest)
      return Buffer.from(bytes)
    }
    bytes.push((rest % 128) | 0x80)
  }
}
