import type { SrvRecord } from 'node:dns'
import { isIP } from 'node:net'
import type { ResolveSrv } from '../../platform/net/resolve-srv.ts'

/** A target of an SRV record. RFC 2782. */
export type SrvTarget = {
  /** Scheme, host and port. */
  readonly origin: string
  /** The gateway uses the targets with the lowest priority that accept requests. */
  readonly priority: number
  readonly weight: number
}

export type SrvRecordsOptions = {
  /** A URL whose host is the name of the records. */
  readonly url: string
  readonly resolve: ResolveSrv
  /** Pause between two lookups. Milliseconds. */
  readonly everyMs: number
  readonly onLookup: (result: 'ok' | 'failed') => void
  /** Called after the first usable response, and after each response with other targets. */
  readonly onChange: (targets: readonly SrvTarget[]) => void
  /** Called when lookups begin to fail, and when they succeed again. Undefined: the lookup succeeded. */
  readonly onProblem: (error: unknown) => void
}

/** The lookup is repeated after this time while no response was usable. Milliseconds. */
const FIRST_RETRY_MS = 1_000
/** Maximum number of targets, as for `urls`. */
const MAX_TARGETS = 64

/**
 * Follows the SRV records of a name until `close()`. One lookup runs at a time. After a failed lookup, the last targets
 * stay in use. A name without records is a failed lookup, because a name server can have lost its records.
 */
export class SrvRecords {
  /** Resolves after the first lookup, also after a failure. */
  readonly first: Promise<void>
  readonly #options: SrvRecordsOptions
  readonly #name: string
  readonly #end = new AbortController()
  #known: string | undefined
  #problem: string | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: SrvRecordsOptions) {
    this.#options = options
    this.#name = new URL(options.url).hostname
    this.first = this.#look()
  }

  /** The reason why the last lookup failed, or why the upstream has no target. */
  get problem(): string | undefined {
    return this.#problem
  }

  close(): void {
    this.#end.abort()
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    const { url, resolve, everyMs, onLookup } = this.#options
    try {
      const targets = toSrvTargets(await resolve(this.#name, this.#end.signal), new URL(url).protocol)
      if (this.#end.signal.aborted) return
      onLookup('ok')
      this.#learned(targets)
    } catch (error) {
      if (this.#end.signal.aborted) return
      onLookup('failed')
      const isNew = this.#problem === undefined
      this.#problem = `the lookup of ${this.#name} failed (${codeOf(error)})`
      if (isNew) this.#options.onProblem(error)
    }
    const pauseMs = this.#known === undefined ? Math.min(everyMs, FIRST_RETRY_MS) : everyMs
    this.#timer = setTimeout(() => void this.#look(), pauseMs).unref()
  }

  #learned(targets: readonly SrvTarget[]): void {
    const wasFailing = this.#problem !== undefined
    this.#problem = targets.length === 0 ? `${this.#name} has only the target "."` : undefined
    if (wasFailing && this.#problem === undefined) this.#options.onProblem(undefined)
    const text = JSON.stringify(targets)
    if (text === this.#known) return
    this.#known = text
    this.#options.onChange(targets)
  }
}

/**
 * Converts SRV records to targets, in the order of their priority. Ignores records that are not valid. Empty if the
 * only target is the root, which means that the service is not available.
 * @throws {Error} if no record is valid.
 */
export function toSrvTargets(records: readonly SrvRecord[], protocol: string): readonly SrvTarget[] {
  if (records.length > 0 && records.every(({ name }) => name === '' || name === '.')) return []
  const targets = new Map<string, SrvTarget>()
  const sorted = records.toSorted(
    (a, b) => a.priority - b.priority || compare(a.name, b.name) || a.port - b.port || a.weight - b.weight,
  )
  for (const { name, port, priority, weight } of sorted) {
    const origin = originOf(protocol, name, port)
    if (origin !== undefined && !targets.has(origin)) targets.set(origin, { origin, priority, weight })
  }
  if (targets.size === 0) throw Object.assign(new Error('no record has a usable target'), { code: 'ENODATA' })
  return [...targets.values()].slice(0, MAX_TARGETS)
}

const HOST_NAME = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/

/** Returns undefined for a port or a name that is not valid. A target is a name, never an IP address. */
function originOf(protocol: string, name: string, port: number): string | undefined {
  const host = name.toLowerCase().replace(/\.$/, '')
  const text = `${protocol}//${host}:${port}`
  if (port === 0 || host.length > 253 || !HOST_NAME.test(host) || !URL.canParse(text)) return undefined
  const { hostname, origin } = new URL(text)
  return hostname === host && isIP(hostname) === 0 ? origin : undefined
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'error'
}
