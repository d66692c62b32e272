/**
 * The parts of an MCP message on which routes depend. In revision 2026-07-28, the headers `Mcp-Method` and `Mcp-Name` repeat
 * these parts.
 */
export type McpCall = {
  /** undefined for a response of the client to a request of the server, which has no method. */
  readonly method: string | undefined
  /** Name of the tool or prompt, URI of the resource, or ID of the task. undefined for all other methods. */
  readonly name: string | undefined
}

/**
 * The member of `params` that contains the name, by method. Source: MCP 2026-07-28, Streamable HTTP; SEP-2663 for tasks;
 * older revisions for subscriptions.
 */
const NAME_MEMBERS: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['resources/subscribe', 'uri'],
  ['resources/unsubscribe', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** Returns the member of `params` that contains the name. undefined: calls of the method have no name. */
export function nameMemberOf(method: string): string | undefined {
  return NAME_MEMBERS.get(method)
}

/** Matches characters that some servers strip: surrounding spaces, a byte order mark, control characters. */
const IS_READ_OTHERWISE = /^\s|\s$|\p{Cc}/u

/** Returns whether all servers read the same method or name. */
export function isUnambiguous(text: string): boolean {
  return text !== '' && text.isWellFormed() && !IS_READ_OTHERWISE.test(text)
}
