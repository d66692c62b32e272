import { Pool } from 'undici'
import type { UpstreamMeter } from '../observe/metrics.ts'

/** One service behind the gateway. */
export type Upstream = {
  /** As policies name it. */
  readonly name: string
  readonly origin: string
  /** Stands before every path; empty when the address has none. */
  readonly basePath: string
  readonly pool: Pool
  readonly meter: UpstreamMeter
  /** From the request to the first byte of the answer, where no route says otherwise. Milliseconds. */
  readonly timeoutMs: number
  /** Where it describes itself, if it does. */
  readonly openapiPath: string | undefined
}

export type UpstreamSettings = {
  readonly name: string
  readonly url: string
  readonly timeoutMs: number
  readonly openapiPath: string | undefined
}

/** A black hole must not hold a request until its own deadline. */
const CONNECT_TIMEOUT_MS = 2_000
/** Longest silence inside an answer: event streams send something more often. */
const BODY_IDLE_MS = 300_000
const RESPONSE_HEADERS_LIMIT_BYTES = 32 * 1024

/** Opens no connection yet; requests do. */
export function createUpstream(settings: UpstreamSettings, meter: UpstreamMeter): Upstream {
  const { origin, pathname } = new URL(settings.url)
  const pool = new Pool(origin, {
    connections: null, // as many as there are requests: one slow route must not hold up another
    pipelining: 1,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: 0, // forward.ts keeps the route's deadline, queueing and connecting included
    bodyTimeout: BODY_IDLE_MS,
    keepAliveTimeout: 4_000, // below the 5 s of a Node upstream that does not announce its own
    keepAliveMaxTimeout: 600_000,
    maxHeaderSize: RESPONSE_HEADERS_LIMIT_BYTES,
  })
  return {
    name: settings.name,
    origin,
    basePath: pathname.replace(/\/$/, ''),
    pool,
    meter,
    timeoutMs: settings.timeoutMs,
    openapiPath: settings.openapiPath,
  }
}
