import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { type Browser, openBrowser } from '../../test/fixtures/open-browser.ts'
import { startPostgres } from '../../test/fixtures/postgres.ts'
import { type Client, knownClient } from '../../test/fixtures/register-client.ts'
import { type Answer, send } from '../../test/fixtures/send.ts'
import { startRedis } from '../../test/fixtures/start-redis.ts'
import { BenchError } from '../bench-error.ts'
import type { Cleanup } from '../cleanup.ts'
import { type RevocationCluster, startRevocationCluster } from './revocation-cluster.ts'

const GIVE_UP_MS = 60_000

/** Two authorization servers on one store. Each server is a separate process. One OAuth client uses both servers. */
export type RefreshCluster = {
  readonly servers: RevocationCluster['servers']
  /** The OAuth client, once for each server. */
  readonly clients: readonly Client[]
  /** Returns a refresh token of a new grant. */
  obtainRefreshToken(): Promise<string>
  /** Returns whether the access token belongs to an open grant. */
  isSignedIn(accessToken: string): Promise<boolean>
}

/** Starts two authorization servers on one SQLite file, one Redis or one PostgreSQL. */
export async function startRefreshCluster(options: {
  readonly folder: string
  readonly cleanup: Cleanup
  readonly store: 'sqlite' | 'redis' | 'postgres'
  /** Receives every token, code and secret. */
  readonly secret?: (value: string | undefined) => void
}): Promise<RefreshCluster> {
  const { folder, cleanup, secret = () => undefined } = options
  const redisFolder = join(folder, 'redis')
  mkdirSync(redisFolder)
  const redis = options.store === 'redis' ? await startRedis({ folder: redisFolder }) : undefined
  if (redis !== undefined) cleanup.add(() => redis.stop())
  const postgres = options.store === 'postgres' ? await startPostgres() : undefined
  if (postgres !== undefined) cleanup.add(() => postgres.remove())
  const { servers, client } = await startRevocationCluster({
    folder,
    cleanup,
    secret,
    gateways: 0,
    servers: 2,
    redis: redis === undefined ? undefined : { ofServers: redis.url, ofGateways: redis.url },
    eventStream: false,
    ...(postgres === undefined
      ? {}
      : { serverSettings: { SCOPEGATE_STORE__TYPE: 'postgres', SCOPEGATE_POSTGRES__URL: postgres.url } }),
  })
  const browser: Browser = openBrowser(servers[0]?.url ?? '')
  const clients = servers.map(({ url }) => knownClient({ baseUrl: url, secret }, client))
  return {
    servers,
    clients,
    obtainRefreshToken: async () =>
      (await client.obtainTokens({ browser, scope: 'openid courses:read' })).refreshToken,
    isSignedIn: async (token) =>
      (await send(`${servers[0]?.url}${ENDPOINTS.userinfo}`, { token })).status === 200,
  }
}

export type ParallelRefreshes = {
  readonly responses: number
  /** Requests with a final status other than 200. */
  readonly rejected: number
  /** A client repeats a request after status 503, because on a busy machine Redis can respond too late. */
  readonly repeated: number
  /** Rounds in which two responses with status 200 differ. */
  readonly different: number
  /** Rounds after which the new refresh token does not work. */
  readonly ended: number
  /** Duration of each request. Milliseconds. */
  readonly timesMs: readonly number[]
}

/**
 * Uses one refresh token in concurrent requests to both servers. Then uses the successor of this refresh token.
 * Each round has a new grant.
 * @param options.duringRound runs while the requests of a round are open.
 */
export async function refreshInParallel(
  cluster: RefreshCluster,
  options: {
    readonly rounds: number
    readonly parallel: number
    readonly duringRound?: () => Promise<void>
  },
): Promise<ParallelRefreshes> {
  const result = { responses: 0, rejected: 0, repeated: 0, different: 0, ended: 0, timesMs: [] as number[] }
  const onRepeat = (): void => {
    result.repeated += 1
  }
  for (let round = 0; round < options.rounds; round++) {
    const refreshToken = await cluster.obtainRefreshToken()
    const requests = Array.from({ length: options.parallel }, async (_, index) => {
      const startedMs = performance.now()
      const answer = await refreshAt(cluster, index, refreshToken, onRepeat)
      result.timesMs.push(performance.now() - startedMs)
      return answer
    })
    await options.duringRound?.()
    const answers = await Promise.all(requests)
    const repeat = await refreshAt(cluster, 0, refreshToken)
    const successful = [...answers, repeat].filter((answer) => answer?.status === 200)
    result.responses += answers.length
    result.rejected += answers.filter((answer) => answer?.status !== 200).length
    if (new Set(successful.map((answer) => answer?.text)).size !== 1) result.different += 1
    const successor = String(successful[0]?.json['refresh_token'])
    if ((await refreshAt(cluster, 0, successor))?.status !== 200) result.ended += 1
  }
  return result
}

/**
 * Uses a refresh token at one of the servers. Repeats the request after status 503, because clients do this too.
 * @returns undefined when the connection failed, for example because the server was killed.
 */
async function refreshAt(
  { clients }: RefreshCluster,
  index: number,
  refreshToken: string,
  onRepeat = (): void => undefined,
): Promise<Answer | undefined> {
  const client = clients[index % clients.length]
  if (client === undefined) throw new BenchError('ERR_BENCH_SUBJECT', 'the cluster has no server')
  const giveUpMs = performance.now() + GIVE_UP_MS
  for (;;) {
    const answer = await client.refresh(refreshToken).catch(() => undefined)
    if (answer?.status !== 503 || performance.now() > giveUpMs) return answer
    onRepeat()
    await wait(Number(answer.headers.get('retry-after')) * 1_000)
  }
}

/**
 * Simulates two clients that share a token file. The clients read their refresh token from the file, refresh some time
 * apart, and write the response to the file.
 * @returns the number of sign-outs of a client.
 */
export async function shareTokenFile(
  cluster: RefreshCluster,
  options: { readonly file: string; readonly rounds: number; readonly apartMs: number },
): Promise<number> {
  const { file, rounds, apartMs } = options
  let signedOut = 0
  writeFileSync(file, await cluster.obtainRefreshToken(), { mode: 0o600 })
  for (let round = 0; round < rounds; round++) {
    const refreshToken = readFileSync(file, 'utf8')
    const accessTokens = await Promise.all(
      [0, 1].map(async (index) => {
        await wait(index * apartMs)
        const answer = await refreshAt(cluster, index, refreshToken)
        if (answer?.status === 200) writeFileSync(file, String(answer.json['refresh_token']))
        return String(answer?.json['access_token'])
      }),
    )
    for (const token of accessTokens) if (!(await cluster.isSignedIn(token))) signedOut += 1
  }
  return signedOut
}

/** Kills the second server while requests are open. Restarts the server for the next round. */
export async function killDuringRound({ servers }: RefreshCluster, afterMs: number): Promise<void> {
  const victim = servers[1]
  if (victim === undefined) throw new BenchError('ERR_BENCH_SUBJECT', 'the cluster has one server')
  await wait(afterMs)
  victim.process.child.kill('SIGKILL')
  await victim.process.ended
  await victim.restart()
}
