/** Returns whether a content type is an event stream, which may be endless. HTML Living Standard, section 9.2.4. */
export function isEventStream(contentType: string | string[] | undefined): boolean {
  return typeof contentType === 'string' && /^text\/event-stream\s*(?:;|$)/i.test(contentType)
}
