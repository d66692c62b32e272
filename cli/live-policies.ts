import { BootError } from '../platform/diagnostics/boot-error.ts'
import { type CompiledPolicies, compilePolicies } from '../policy-engine/decide/compile-policies.ts'
import type { DecisionLimits } from '../policy-engine/decide/decide.ts'
import type { UnavailablePrefix } from '../policy-engine/load/load-policy-sources.ts'
import type { PolicyRoute } from '../policy-engine/load/policy-route.ts'
import { compileResources, type Resources, type ResourcesOptions } from '../policy-engine/match/resources.ts'

/** The active policies of a running gateway, compiled for decisions. */
export type LivePolicies = {
  readonly compiled: CompiledPolicies
  readonly resources: Resources
  readonly limits: DecisionLimits
  /** Whether the gateway serves its pages (`docs.enabled`). Undefined: an older gateway. */
  readonly servesPages: boolean | undefined
}

const TIMEOUT_MS = 10_000
const LIMIT_BYTES = 64 * 1024 * 1024

/**
 * Fetches the active policies from a gateway's management port. Decisions with these policies equal the decisions of
 * that gateway.
 * @throws {BootError} when the URL is not valid or the request fails; exit code 1.
 */
export async function fetchLivePolicies(managementUrl: string): Promise<LivePolicies> {
  const problem = (what: string, cause?: unknown): BootError =>
    new BootError(
      'ERR_LIVE_POLICIES',
      `scopegate: ${managementUrl} ${what}. Use the URL of the management port, for example http://127.0.0.1:9090`,
      { cause },
    )
  const fail = (why: string, cause?: unknown): BootError =>
    problem(`did not return its policies: ${why}`, cause)
  if (!/^https?:\/\//.test(managementUrl) || !URL.canParse(managementUrl))
    throw problem('is not an http or https URL')
  let text: string
  try {
    const response = await fetch(new URL('policies', managementUrl.replace(/\/*$/, '/')), {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'error',
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw fail(`the response has the status ${response.status}`)
    }
    text = await readLimited(response)
  } catch (error) {
    if (error instanceof BootError) throw error
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    throw fail(cause instanceof Error ? cause.message : String(cause), error)
  }
  try {
    return readPolicies(text)
  } catch (cause) {
    throw fail('this version of scopegate cannot read the response of the gateway', cause)
  }
}

async function readLimited(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > LIMIT_BYTES) throw new Error(`the response is longer than ${LIMIT_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function readPolicies(text: string): LivePolicies {
  const { routes, hash, unavailable, implication, resources, limits, servesPages } = JSON.parse(text) as {
    readonly routes: readonly PolicyRoute[]
    readonly hash: string
    /** Absent in the response of an older gateway. */
    readonly unavailable?: readonly UnavailablePrefix[]
    readonly implication: Readonly<Record<string, readonly string[]>>
    readonly resources: ResourcesOptions
    readonly limits: DecisionLimits
    /** Absent in the response of an older gateway. */
    readonly servesPages?: boolean
  }
  const compiled = compileResources(resources)
  return {
    resources: compiled,
    limits,
    servesPages,
    compiled: compilePolicies(
      { routes, hash, unavailable },
      { implication: new Map(Object.entries(implication)), resources: compiled },
    ),
  }
}
