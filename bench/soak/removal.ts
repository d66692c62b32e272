// npm run soak:removal: two gateways, one authorization server, Redis and Chromium. A person removes apps on the account
// page, and an operator disables accounts. Measures the time from the response until both gateways reject all
// tokens. Limit: each trial under 1 s. Half of the trials use opaque tokens, the other half uses JWTs.
// REMOVAL_TRIALS: number of trials of each kind, default 100.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { hashPassword, MINIMUM_COST } from '../../authorization-server/accounts/password-hash.ts'
import { openStore } from '../../authorization-server/store/open-store.ts'
import { main } from '../../cli/main.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { aTerminal } from '../../test/fixtures/a-terminal.ts'
import { launchChromium } from '../../test/fixtures/launch-chromium.ts'
import { openBrowser } from '../../test/fixtures/open-browser.ts'
import { type Client, registerClient } from '../../test/fixtures/register-client.ts'
import { startRedis } from '../../test/fixtures/start-redis.ts'
import { TOKEN_CONFIG } from '../../test/fixtures/token-settings.ts'
import { BenchError } from '../bench-error.ts'
import { writeMeasurements } from '../write-results.ts'
import type { Measurement } from './measurement.ts'
import { readPercentile } from './read-percentile.ts'
import { awaitChannel, type RevocationCluster, startRevocationCluster } from './revocation-cluster.ts'
import { runSoak, type Soak } from './run-soak.ts'

const TRIALS = Number(process.env['REMOVAL_TRIALS'] ?? 100)
const LIMIT_MS = 1_000
const GIVE_UP_MS = 60_000
const APPS = 3
const SCOPE = 'courses:read'
const PASSWORD = 'correct horse battery staple'

const FORMATS = ['opaque', 'jwt'] as const
type Format = (typeof FORMATS)[number]

/** Times of the trials of one kind and one format. Milliseconds. */
type Times = { readonly what: string; readonly format: Format; readonly timesMs: readonly number[] }

await runSoak(async (soak) => {
  const measured: Times[] = []
  for (const format of FORMATS) measured.push(...(await measureFormat(format, soak)))
  if (TRIALS >= 100)
    console.log(`written to ${writeMeasurements('removal-', new Date(), { limitMs: LIMIT_MS, measured })}`)
  return measured.flatMap(rowsOf)
})

async function measureFormat(format: Format, { folder: parent, cleanup }: Soak): Promise<readonly Times[]> {
  const folder = join(parent, format)
  const redisFolder = join(folder, 'redis')
  mkdirSync(redisFolder, { recursive: true })
  const redis = await startRedis({ folder: redisFolder })
  cleanup.add(() => redis.stop())
  const cluster = await startRevocationCluster({
    folder,
    cleanup,
    gateways: 2,
    servers: 1,
    redis: { ofServers: redis.url, ofGateways: redis.url },
    eventStream: false,
    serverSettings: {
      SCOPEGATE_ACCESS_TOKENS__FORMAT: format,
      SCOPEGATE_REGISTRATION__RATE_LIMIT__PER_ADDRESS: '1000000',
    },
    gatewaySettings: (_, server) =>
      format === 'jwt' ? { SCOPEGATE_ISSUERS__0__JWT__KEYS__URI: `${server}${ENDPOINTS.jwks}` } : {},
  })
  await awaitChannel(cluster, 'up')
  const baseUrl = cluster.gateways[0]?.url ?? ''
  const on = { baseUrl, secret: () => undefined }
  const clients = await Promise.all(
    Array.from({ length: APPS }, (_, at) => registerClient(on, { client_name: `App ${at}` })),
  )
  const chromium = await launchChromium({ teardown: (end) => cleanup.add(async () => void (await end())) })
  const context = await chromium.newContext()
  const page = await context.newPage()
  const account = `${baseUrl}${ENDPOINTS.account}`
  await page.goto(account)
  await page.fill('input[name=username]', 'alice')
  await page.fill('input[name=password]', 'alice')
  await page.click('form[action$="/sign-in"] button')
  await page.waitForURL(account)

  const alice = { username: 'alice', browser: openBrowser(baseUrl) }
  const trials = Math.ceil(TRIALS / FORMATS.length)
  const remove = async (apps: readonly Client[], step: string): Promise<readonly number[]> => {
    const timesMs: number[] = []
    for (let trial = 0; trial < trials; trial++) {
      const tokens = await obtainTokens(cluster, apps, alice)
      await page.goto(account)
      const { shown } = await submitForm(page, step)
      timesMs.push(await timeUntilDenied(cluster, tokens))
      await shown
    }
    return timesMs
  }
  const one = await remove(clients.slice(0, 1), 'remove')
  console.log(`${format}: ${trials} apps removed`)
  const all = await remove(clients, 'remove-all')
  console.log(`${format}: ${trials} times all apps removed`)
  const disabled = await disableAccounts(cluster, { clients, trials, redisUrl: redis.url, folder })
  console.log(`${format}: ${trials} accounts disabled`)
  return [
    { what: 'removal of one app in Chromium', format, timesMs: one },
    { what: `removal of all ${APPS} apps in Chromium`, format, timesMs: all },
    { what: `scopegate account disable, ${APPS} apps`, format, timesMs: disabled },
  ]
}

/**
 * Clicks the button of a form of the account page, and waits for the response to the form.
 * @returns `shown` resolves when the page shows the result.
 */
async function submitForm(page: Page, step: string): Promise<{ readonly shown: Promise<void> }> {
  const path = `${ENDPOINTS.account}/${step}`
  const shown = page.waitForURL((url) => url.searchParams.has('done'))
  const [response] = await Promise.all([
    page.waitForResponse((one) => new URL(one.url()).pathname === path),
    page.click(`form[action="${path}"] button`, { noWaitAfter: true }),
  ])
  if (response.status() !== 303)
    throw new BenchError('ERR_BENCH_SUBJECT', `${path} returned ${response.status()}`)
  return { shown }
}

/** Disables a new account in each trial, because tokens of a minute after a disabling are also revoked. */
async function disableAccounts(
  cluster: RevocationCluster,
  options: {
    readonly clients: readonly Client[]
    readonly trials: number
    readonly redisUrl: string
    readonly folder: string
  },
): Promise<readonly number[]> {
  const nowSeconds = () => Math.floor(Date.now() / 1_000)
  const dataDir = join(options.folder, 'data')
  const config = {
    ...TOKEN_CONFIG,
    store: { type: 'redis' },
    redis: { url: options.redisUrl },
    dataDir,
  } as const
  const store = await openStore(config, { nowSeconds })
  const passwordHash = await hashPassword(PASSWORD, Buffer.alloc(16), MINIMUM_COST)
  const timesMs: number[] = []
  try {
    for (let trial = 0; trial < options.trials; trial++) {
      const username = `person-${trial}`
      await store.accounts.insert({
        id: username,
        username,
        name: username,
        email: undefined,
        passwordHash,
        origin: 'operator',
        createdAtSeconds: nowSeconds(),
      })
      const browser = openBrowser(cluster.gateways[0]?.url ?? '')
      const tokens = await obtainTokens(cluster, options.clients, { username, browser })
      const terminal = aTerminal({ typed: '', env: { SCOPEGATE_DATA_DIR: dataDir } })
      const code = await main(['account', 'disable', username], terminal)
      if (code !== 0) throw new BenchError('ERR_BENCH_SUBJECT', `account disable: ${terminal.said.err}`)
      timesMs.push(await timeUntilDenied(cluster, tokens))
    }
  } finally {
    await store.close()
  }
  return timesMs
}

/** Obtains a token for each app, and checks that each gateway accepts the token. */
async function obtainTokens(
  cluster: RevocationCluster,
  clients: readonly Client[],
  { username, browser }: { readonly username: string; readonly browser: ReturnType<typeof openBrowser> },
): Promise<readonly string[]> {
  const password = username === 'alice' ? 'alice' : PASSWORD
  const tokens: string[] = []
  for (const client of clients) {
    const asking = { browser, scope: SCOPE, person: { username, password } }
    const { accessToken } = await client.obtainTokens(asking)
    const statuses = await Promise.all(cluster.gateways.map((gateway) => gateway.statusOf(accessToken)))
    if (statuses.some((status) => status !== 201))
      throw new BenchError('ERR_BENCH_SUBJECT', `gateways returned ${statuses} for a new token`)
    tokens.push(accessToken)
  }
  return tokens
}

/** Returns the time until every gateway has responded with 401 for every token. Milliseconds. */
async function timeUntilDenied({ gateways }: RevocationCluster, tokens: readonly string[]): Promise<number> {
  const startedMs = performance.now()
  await Promise.all(
    gateways.flatMap((gateway) =>
      tokens.map(async (token) => {
        while ((await gateway.statusOf(token)) !== 401)
          if (performance.now() - startedMs > GIVE_UP_MS)
            throw new BenchError('ERR_BENCH_SUBJECT', 'a gateway still accepts a revoked token')
      }),
    ),
  )
  return performance.now() - startedMs
}

function rowsOf({ what, format, timesMs }: Times): readonly Measurement[] {
  const within = timesMs.filter((ms) => ms < LIMIT_MS).length
  const name = `${what}, ${format}`
  const time = (label: string, ms: number): Measurement => ({
    what: `${name}: ${label} until both gateways reject the tokens`,
    measured: `${ms.toFixed(0)} ms`,
    limit: 'none',
    passed: undefined,
  })
  return [
    {
      what: `${name}: trials under ${LIMIT_MS / 1_000} s`,
      measured: `${within} of ${timesMs.length}`,
      limit: `${timesMs.length} of ${timesMs.length}`,
      passed: within === timesMs.length,
    },
    time('p50', readPercentile(timesMs, 0.5)),
    time('max', Math.max(...timesMs)),
  ]
}
