import { parseScope } from '../oauth/scope.ts'
import { type Diagnostic, diagnostic, type Severity, wholeFile } from '../platform/diagnostics/diagnostic.ts'
import type { AuthorizationServerConfig } from './config.ts'

/**
 * Finds errors that the schema of a single key cannot find.
 * C301: two settings contradict each other, or a number is out of range.
 */
export function findContradictions(config: AuthorizationServerConfig, file: string): readonly Diagnostic[] {
  const found: Diagnostic[] = []
  const say = (message: string, hint: string, severity: Severity = 'error') =>
    found.push(diagnostic('C301', message, wholeFile(file), { hint, severity }))
  const { lifetimes, store, redis } = config
  for (const [name, value] of Object.entries(lifetimes))
    if (value < 1) say(`lifetimes.${name.replace(/Seconds$/, '')} is shorter than a second`, 'use 1s or more')
  if (lifetimes.refreshTokenMaxSeconds < lifetimes.refreshTokenSeconds)
    say('lifetimes.refreshTokenMax is shorter than lifetimes.refreshToken', 'make it at least as long')
  if (config.refreshTokens.repeatWindowSeconds >= lifetimes.accessTokenSeconds)
    say(
      'refreshTokens.repeatWindow is not below lifetimes.accessToken: a repeated response could hold an expired access token',
      'make the window shorter, or use 0s',
    )
  if (config.registration.unusedClientSeconds < 1)
    say('registration.unusedClients is shorter than a second', 'use 7d')
  if (config.registration.rateLimit.windowMs < 1_000)
    say('registration.rateLimit.window is shorter than a second', 'use 10m')
  if (config.authorization.rateLimit.windowMs < 1_000)
    say('authorization.rateLimit.window is shorter than a second', 'use 10m')
  if (config.authorization.pending.total < config.authorization.pending.perAddress)
    say(
      'authorization.pending.total is less than authorization.pending.perAddress',
      'make it at least as large',
    )
  if (config.drain.delayMs >= config.drain.graceMs)
    say('drain.delay is not below drain.grace', 'the grace contains the delay: make it longer')
  const { defaultScope } = config.compat
  const defaults = defaultScope === undefined ? [] : (parseScope(defaultScope) ?? [defaultScope])
  for (const scope of defaults.filter((name) => !config.catalogue.has(name)))
    say(`compat.defaultScope: scope "${scope}" is not in the catalogue`, 'name scopes of config/scopes.yaml')
  if (config.registration.bodyLimitBytes < 1) say('registration.bodyLimit is nothing', 'use 16KiB')
  if (store.type === 'redis' && redis === undefined)
    say('store.type is redis, but redis.url is not set', 'set redis.url (REDIS_URL)')
  // An operator who sets both expects revocations in Redis. In development, both services share one environment.
  if (store.type === 'sqlite' && redis !== undefined)
    say(
      'redis.url (REDIS_URL) is set, but store.type is sqlite: nothing, no revocation either, would be written to Redis',
      'use store.type: redis, or leave redis.url out and set issuers[].revocations at the gateways',
      config.development ? 'warning' : 'error',
    )
  const ids = [config.gatewayClient.id, ...config.integrations.map((integration) => integration.clientId)]
  for (const id of new Set(ids.filter((one, index) => ids.indexOf(one) !== index)))
    say(`two clients have the id ${id}`, 'give each its own')
  return found
}
