import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { readScopeCatalogue } from '../../platform/config/read-scope-catalogue.ts'
import { hasErrors } from '../../platform/diagnostics/diagnostic.ts'
import { loadPolicies } from '../../policy-engine/load/load-policies.ts'
import type { Cleanup } from '../cleanup.ts'
import { mutatePolicy } from './mutate-policy.ts'
import { startLoadedGateway } from './start-loaded-gateway.ts'
import type { SoakGateway } from './start-soak-gateway.ts'
import { versionedPolicy, writeVersion } from './versioned-policies.ts'
import { findWrongResponses, startVersionsLoad } from './versions-load.ts'

export type ReloadSoak = {
  readonly answered: number
  readonly failed: ReadonlyMap<string, number>
  /** Responses that match no active policy version, in the format `hash path status`. */
  readonly wrong: readonly string[]
  /** Descriptions of reloads with an unexpected result. */
  readonly unexpected: readonly string[]
  /** Duration of each reload by the clock of the caller. Milliseconds. */
  readonly tookMs: readonly number[]
}

/** Minimum number of responses for each version, even if the reloads are fast. */
export const RESPONSES_EACH = 40

export type ReloadSoakOptions = {
  readonly folder: string
  readonly reloads: number
  readonly connections: number
  /** Minimum time between the starts of two reloads. Milliseconds. */
  readonly everyMs: number
}

type Answer = {
  readonly result: string
  readonly hash: string
  readonly diagnostics: readonly { readonly code: string; readonly file: string; readonly line?: number }[]
}

/** Starts the gateway under test, with its own upstream. */
export async function startReloadedGateway(options: {
  readonly folder: string
  readonly cleanup: Cleanup
  readonly workers: number
}): Promise<SoakGateway> {
  writeVersion(options.folder, 0)
  const { workers } = options
  return startLoadedGateway({
    ...options,
    settings: { workers, policyReload: 'manual', debug: { policyHeader: true } },
  })
}

/** Replaces policies repeatedly while clients request paths on which the versions differ. The last version is 0. */
export async function soakGoodReloads(gateway: SoakGateway, options: ReloadSoakOptions): Promise<ReloadSoak> {
  const { folder, reloads } = options
  return underLoad(gateway, options, async ({ reload, parityOf, unexpected }, turn) => {
    const version = turn + 1 === reloads ? 0 : turn + 1
    writeVersion(folder, version)
    const { status, answer } = await reload()
    if (status !== 200 || answer.result !== 'applied')
      unexpected.push(`${version}: ${status} ${answer.result}`)
    else parityOf.set(answer.hash.slice(0, 12), (version % 2) as 0 | 1)
  })
}

/**
 * Reloads invalid policies while clients send requests. Each policy has a common mistake. The responses must not
 * change.
 */
export async function soakBrokenReloads(
  gateway: SoakGateway,
  options: ReloadSoakOptions,
): Promise<ReloadSoak> {
  const broken = brokenPolicies(options)
  return underLoad(gateway, options, async ({ reload, unexpected }, turn) => {
    writeFileSync(writeVersion(options.folder, 0), broken[turn] ?? '')
    const { status, answer } = await reload()
    const [first] = answer.diagnostics
    if (status !== 422 || answer.result !== 'broken') unexpected.push(`${turn}: ${status} ${answer.result}`)
    else if (first?.file.endsWith('versions.policy.yaml') !== true || first.line === undefined)
      unexpected.push(`${turn}: no location, ${first?.code}`)
  })
}

/** Returns a different invalid policy for each reload. Omits valid mutations. */
function brokenPolicies({ folder, reloads }: ReloadSoakOptions): readonly string[] {
  const dir = join(folder, 'mutated')
  const catalogue = readScopeCatalogue({ file: join(import.meta.dirname, '../../config/scopes.yaml') })
  const found = new Set<string>()
  while (found.size < reloads) {
    const text = mutatePolicy(versionedPolicy(0, 3))
    const name = 'versions.policy.yaml'
    const sources = { folder: { names: [name] }, files: [{ name, source: { text } }] }
    const { diagnostics } = loadPolicies({ dir, sources, catalogue, upstreams: new Set(['api']) })
    if (hasErrors(diagnostics)) found.add(text)
  }
  return [...found]
}

type Turn = {
  readonly reload: () => Promise<{ readonly status: number; readonly answer: Answer }>
  readonly parityOf: Map<string, 0 | 1>
  readonly unexpected: string[]
}

async function underLoad(
  gateway: SoakGateway,
  { reloads, connections, everyMs }: ReloadSoakOptions,
  turn: (turn: Turn, number: number) => Promise<void>,
): Promise<ReloadSoak> {
  const parityOf = new Map<string, 0 | 1>([[await hashInForce(gateway), 0]])
  const unexpected: string[] = []
  const tookMs: number[] = []
  async function reload() {
    const startedMs = performance.now()
    const response = await fetch(`${gateway.managementUrl}/reload`, { method: 'POST' })
    const answer = (await response.json()) as Answer
    tookMs.push(performance.now() - startedMs)
    return { status: response.status, answer }
  }
  const load = startVersionsLoad(gateway.url, connections)
  try {
    for (let number = 0; number < reloads; number++) {
      const startedMs = performance.now()
      await turn({ reload, parityOf, unexpected }, number)
      await load.more(RESPONSES_EACH)
      await wait(Math.max(0, everyMs - (performance.now() - startedMs)))
    }
  } finally {
    await load.stop()
  }
  const wrong = findWrongResponses(load, parityOf)
  return { answered: load.answered, failed: load.failed, wrong, unexpected, tookMs }
}

async function hashInForce(gateway: SoakGateway): Promise<string> {
  const response = await fetch(`${gateway.managementUrl}/policies`)
  return ((await response.json()) as { hash: string }).hash.slice(0, 12)
}
