import type { IncomingHttpHeaders } from 'node:http'
import { isEventStream } from '../upstreams/client-response.ts'
import {
  decodeText,
  isObject,
  type JsonRange,
  parseJson,
  readElements,
  readMembers,
  skipSpace,
} from './json-members.ts'

/** Returns whether the caller may use the tool with this name. */
export type IsToolAllowed = (name: string) => boolean

const JSON_TYPE = /^application\/json\s*(?:;|$)/i
const LINE_END = /\r\n|\n|\r/
const EVENT_FIELDS = new Set(['event', 'id', 'retry'])

/**
 * Removes the tools that the caller may not use from a response to `tools/list`. Pure. Does not change a response without
 * content, or with an error status.
 * @returns the new body. undefined if the response has another form than JSON or a complete event stream of JSON-RPC
 * messages, or if a client could read a message in another way.
 */
export function filterTools(
  {
    status,
    headers,
    body,
  }: { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer },
  isAllowed: IsToolAllowed,
): Buffer | undefined {
  if (status >= 300 || body.length === 0) return body
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = headers
  if (coding.toLowerCase() !== 'identity') return undefined
  const text = decodeText(body)
  if (text === undefined) return undefined
  const filtered = JSON_TYPE.test(type)
    ? filterMessage(text, isAllowed)
    : isEventStream(type)
      ? filterEvents(text, isAllowed)
      : undefined
  return filtered === undefined ? undefined : Buffer.from(filtered)
}

/** Filters the messages of an event stream. HTML Living Standard, section 9.2.6. Drops comments and unknown fields. */
function filterEvents(text: string, isAllowed: IsToolAllowed): string | undefined {
  // Clients remove a byte order mark.
  if (text.startsWith('\ufeff')) return undefined
  let filtered = ''
  let fields = ''
  let data: string[] = []
  const lines = text.split(LINE_END)
  if (lines.pop() !== '') return undefined
  for (const line of lines) {
    if (line === '') {
      const message = data.join('\n')
      // Line breaks of a JSON text are white space between its values.
      const kept = message === '' ? '' : filterMessage(message, isAllowed)?.replaceAll('\n', ' ')
      if (kept === undefined) return undefined
      if (data.length > 0) fields += `data: ${kept}\n`
      if (fields !== '') filtered += `${fields}\n`
      fields = ''
      data = []
      continue
    }
    const [name = '', ...rest] = line.split(':')
    if (name === 'data') data.push(rest.join(':').replace(/^ /, ''))
    else if (EVENT_FIELDS.has(name)) fields += `${line}\n`
  }
  return data.length === 0 ? filtered : undefined
}

/** Filters a JSON-RPC message. Does not change a message without a result. */
function filterMessage(text: string, isAllowed: IsToolAllowed): string | undefined {
  const message = parseJson(text)
  if (!isObject(message)) return undefined
  const top = readMembers(text, skipSpace(text, 0), ['result'])
  if (top === undefined) return undefined
  const range = top.get('result')
  if (range === undefined) return text
  if (!isObject(message['result'])) return undefined
  const members = readMembers(text, range.start, ['tools', 'cacheScope'])
  const tools = members?.get('tools')
  if (members === undefined || tools === undefined || !Array.isArray(message['result']['tools']))
    return undefined
  const kept: string[] = []
  for (const tool of readElements(text, tools.start)) {
    const name = nameOf(text, tool)
    if (name === undefined) return undefined
    if (isAllowed(name)) kept.push(text.slice(tool.start, tool.end))
  }
  // Other callers have other lists, so no cache may share this list.
  const scope = members.get('cacheScope')
  return replaceRanges(text, [
    { range: tools, by: `[${kept.join(',')}]` },
    ...(scope === undefined ? [] : [{ range: scope, by: '"private"' }]),
  ])
}

function nameOf(text: string, { start, end }: JsonRange): string | undefined {
  const tool = parseJson(text.slice(start, end))
  if (!isObject(tool) || readMembers(text, start, ['name']) === undefined) return undefined
  return typeof tool['name'] === 'string' ? tool['name'] : undefined
}

function replaceRanges(
  text: string,
  edits: readonly { readonly range: JsonRange; readonly by: string }[],
): string {
  return edits
    .toSorted((a, b) => b.range.start - a.range.start)
    .reduce((edited, { range, by }) => edited.slice(0, range.start) + by + edited.slice(range.end), text)
}
