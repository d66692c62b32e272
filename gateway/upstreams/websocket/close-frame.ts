import { randomBytes } from 'node:crypto'

/**
 * Creates a Close frame. Set `masked` for frames that go to a server.
 * Source: RFC 6455 sections 5.2, 5.3 and 5.5.1.
 */
export function closeFrame(code: number, reason: string, masked: boolean): Buffer {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason))
  payload.writeUInt16BE(code)
  payload.write(reason, 2)
  if (!masked) return Buffer.concat([Buffer.from([0x88, payload.length]), payload])
  const mask = randomBytes(4)
  for (let at = 0; at < payload.length; at += 1)
    payload[at] = (payload[at] as number) ^ (mask[at % 4] as number)
  return Buffer.concat([Buffer.from([0x88, 0x80 | payload.length]), mask, payload])
}
