/** One event of a `text/event-stream`. `id` is the latest ID in the stream, from this event or an earlier event. */
export type StreamEvent = { readonly event: string; readonly data: string; readonly id: string | undefined }

/**
 * Maximum length of a line or an event. Events of an issuer are shorter, so a longer line means that the endpoint is not
 * a revocation stream. Characters.
 */
const LINE_LIMIT = 64 * 1024

/**
 * Creates an incremental parser for a `text/event-stream`. The parser ignores comments, and fields other than `event`,
 * `data` and `id`.
 * Source: HTML Living Standard, section 9.2.6.
 * @throws {RangeError} from the parser, when a line or an event exceeds the limit.
 */
export function createEventStreamReader(): (text: string) => StreamEvent[] {
  let rest = ''
  let event = ''
  let id: string | undefined
  let data: string[] = []
  let dataLength = 0

  return (text) => {
    const events: StreamEvent[] = []
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0 || event !== '')
          events.push({ event: event === '' ? 'message' : event, data: data.join('\n'), id })
        event = ''
        data = []
        dataLength = 0
        continue
      }
      const colon = line.indexOf(':')
      const field = colon === -1 ? line : line.slice(0, colon)
      const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
      if (field === 'event') event = value
      // Accepts only visible ASCII, because the gateway sends the ID back in a header.
      if (field === 'id' && /^[\x21-\x7e]{1,256}$/.test(value)) id = value
      if (field === 'data') {
        data.push(value)
        dataLength += value.length + 1 // an empty line also takes memory
      }
    }
    if (rest.length + dataLength > LINE_LIMIT) throw new RangeError('an event is too large')
    return events
  }
}
