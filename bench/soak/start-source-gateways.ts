import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { aConfigMap, type ConfigMapVolume } from '../../test/fixtures/a-config-map.ts'
import type { Cleanup } from '../cleanup.ts'
import { type SoakGateway, startSoakGateway } from './start-soak-gateway.ts'

/** A gateway with a volume for the ConfigMap of each policy source. */
export type SourceGateway = SoakGateway & {
  readonly sources: readonly {
    readonly name: string
    readonly folder: string
    readonly volume: ConfigMapVolume
  }[]
}

/** The ConfigMaps of all sources have this key. */
const KEY = 'team.policy.yaml'

/** Returns the ConfigMap of a source. Its only route is `/SOURCE/vVERSION`. */
export function policyMap(source: string, version: number): Readonly<Record<string, string>> {
  return { [KEY]: sourcePolicy(`/${source}/v${version}`) }
}

/** Returns a policy with one route, which accepts requests without a token. */
export function sourcePolicy(path: string): string {
  return JSON.stringify({
    ...{ apiVersion: 'scopegate/v1', kind: 'Policy', name: 'team', upstream: 'api' },
    routes: [{ name: 'one', match: { methods: ['GET'], path }, anonymous: 'allow' }],
  })
}

/** Starts replicas of a gateway with policy sources. Each replica has separate volumes, as on separate nodes. */
export function startSourceGateways(options: {
  readonly folder: string
  readonly cleanup: Cleanup
  readonly upstream: string
  readonly replicas: number
  readonly sources: number
}): Promise<readonly SourceGateway[]> {
  const names = Array.from({ length: options.sources }, (_, at) => `team-${at}`)
  const start = async (_: unknown, at: number): Promise<SourceGateway> => {
    const folder = join(options.folder, `replica-${at}`)
    const sources = names.map((name) => {
      const source = join(folder, 'sources', name)
      mkdirSync(source, { recursive: true })
      return { name, folder: source, volume: aConfigMap(source, policyMap(name, 0)) }
    })
    const gateway = await startSoakGateway({
      ...{ folder, cleanup: options.cleanup, upstream: options.upstream },
      settings: {
        policies: undefined,
        policyReload: 'watch',
        policySources: names.map((name) => ({
          ...{ name, folder: `./sources/${name}` },
          permissions: { pathPrefixes: [`/${name}`], upstreams: ['api'], anonymous: true },
        })),
      },
    })
    return { ...gateway, sources }
  }
  return Promise.all(Array.from({ length: options.replicas }, start))
}
