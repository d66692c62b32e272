import { type Revocation, writeRevocation } from '../../oauth/revocation.ts'
import { layoutOf } from './key-layout.ts'
import type { RedisClient } from './redis-client.ts'
import {
  REVOCATION_CHANNEL,
  REVOCATION_FIELD,
  REVOCATION_STREAM,
  relayedKey,
  revocationStream,
  revokedKey,
} from './revocation-keys.ts'

/**
 * Maximum number of entries. Redis deletes the oldest entries. A slow reader starts again if its next entry was
 * deleted.
 */
const MAX_ENTRIES = 100_000
/** Minimum lifetime of an entry. JWTs usually have shorter lifetimes. Seconds. */
const MIN_LIFETIME_SECONDS = 86_400
/**
 * Additional lifetime of a mark: for clock differences, and for introspection results that a gateway requested just
 * before the revocation. Seconds.
 */
const MARGIN_SECONDS = 300

/**
 * Lua: adds a revocation to the stream and sets a mark for the revoked name. The mark expires after `seconds`. Deletes
 * old entries, and the oldest entries above a maximum number. Uses the clock of Redis, because the clocks of replicas
 * can differ. `at` is the time of the revocation in seconds. Default: now. In a Redis Cluster, a message wakes the
 * followers, because a follower cannot wait for several streams. Without permission for the channel, followers find the
 * entry within a second.
 */
export const PUBLISH = `
local function publish(stream, mark, entry, seconds, at)
  local now = tonumber(redis.call('TIME')[1])
  local oldest = now - math.max(tonumber(seconds), ${MIN_LIFETIME_SECONDS})
  redis.call('XADD', stream, 'MAXLEN', '~', ${MAX_ENTRIES}, '*', '${REVOCATION_FIELD}', entry)
  redis.call('XTRIM', stream, 'MINID', '~', string.format('%d', oldest * 1000))
  redis.call('SET', mark, at or now, 'EX', seconds)
  if stream ~= '${REVOCATION_STREAM}' then redis.pcall('PUBLISH', '${REVOCATION_CHANNEL}', stream) end
end
`

/**
 * KEYS: stream, mark, time of the issuer's last relayed revocation. ARGV: entry, lifetime of the mark, time of the
 * revocation. All times are in seconds. The third key is necessary because another issuer can set the mark for the same
 * name. Neither the time nor the expiry of a mark decreases. A mark contains the time of the revocation, because a
 * later revocation of the same subject can follow.
 */
const RELAY = `${PUBLISH}
local told = redis.call('GET', KEYS[3])
if told and tonumber(told) >= tonumber(ARGV[3]) then return 0 end
local marked = redis.call('GET', KEYS[2])
local at = ARGV[3]
if marked and tonumber(marked) > tonumber(at) then at = marked end
local seconds = math.max(redis.call('TTL', KEYS[2]), tonumber(ARGV[2]))
publish(KEYS[1], KEYS[2], ARGV[1], ARGV[2])
redis.call('SET', KEYS[2], at, 'EX', seconds)
redis.call('SET', KEYS[3], ARGV[3], 'EX', seconds)
return 1
`

/**
 * Writes a revocation that the gateway received outside Redis to the revocation stream in Redis. Skips a name if a
 * gateway has written this revocation, or a later one, for the same name and issuer.
 * Cost: one round trip for each revoked name (grant, token or subject).
 */
export async function relayRevocation(
  redis: RedisClient,
  revocation: Revocation & { readonly issuer: string },
  nowSeconds: number,
): Promise<void> {
  const { grant, token, subject, atSeconds, expiresAtSeconds } = revocation
  const left = (expiresAtSeconds ?? nowSeconds + MIN_LIFETIME_SECONDS) - nowSeconds
  const seconds = Math.ceil(left) + MARGIN_SECONDS
  if (seconds <= 0) return
  const at = Math.floor(atSeconds ?? nowSeconds)
  for (const [kind, name] of Object.entries({ grant, token, subject })) {
    if (name === undefined) continue
    const one = { ...revocation, atSeconds: at, grant: undefined, token: undefined, subject: undefined }
    const tag = layoutOf(redis).tagOf(name)
    await redis.eval(
      RELAY,
      3,
      revocationStream(tag),
      revokedKey(kind as 'grant', name, tag),
      relayedKey(revocation.issuer, kind as 'grant', name, tag),
      writeRevocation({ ...one, [kind]: name }),
      seconds,
      at,
    )
  }
}
