import type { Redis } from 'ioredis'
import { type Revocation, writeRevocation } from '../../oauth/revocation.ts'
import { REVOCATION_FIELD, REVOCATION_STREAM, relayedKey, revokedKey } from './revocation-keys.ts'

/** Above this number the oldest entries are deleted: a slow reader starts again. */
const MOST_ENTRIES = 100_000
/** Entries stay at least so long: JWTs live shorter. Seconds. */
const LEAST_SECONDS = 86_400
/** Clocks differ, and a verdict that was asked for just before is used for a while. Seconds. */
const MARGIN_SECONDS = 300

/**
 * Lua: writes a revocation into the stream and marks the revoked name for `seconds`; drops entries by age, and beyond a
 * number. The clock of Redis counts, because the clocks of replicas may differ. `at` is the second of the revocation, if it
 * is not the present one.
 */
export const PUBLISH = `
local function publish(stream, mark, entry, seconds, at)
  local now = tonumber(redis.call('TIME')[1])
  local oldest = now - math.max(tonumber(seconds), ${LEAST_SECONDS})
  redis.call('XADD', stream, 'MAXLEN', '~', ${MOST_ENTRIES}, '*', '${REVOCATION_FIELD}', entry)
  redis.call('XTRIM', stream, 'MINID', '~', string.format('%d', oldest * 1000))
  redis.call('SET', mark, at or now, 'EX', seconds)
end
`

/**
 * KEYS: stream, mark, second of the issuer's last relayed revocation. ARGV: entry, seconds, second of the revocation. The third
 * key exists because another issuer may have set the mark of the same name. Neither the second nor the expiry of a mark gets
 * smaller. A mark holds the second of the revocation, because a later revocation of the same subject may follow.
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
 * Writes a revocation of another channel to Redis, unless another gateway has written it for the same issuer.
 * Cost: one round trip for each name in it.
 */
export async function relayRevocation(
  redis: Redis,
  revocation: Revocation & { readonly issuer: string },
  nowSeconds: number,
): Promise<void> {
  const { grant, token, subject, atSeconds, expiresAtSeconds } = revocation
  const left = (expiresAtSeconds ?? nowSeconds + LEAST_SECONDS) - nowSeconds
  const seconds = Math.ceil(left) + MARGIN_SECONDS
  if (seconds <= 0) return
  const at = Math.floor(atSeconds ?? nowSeconds)
  for (const [kind, name] of Object.entries({ grant, token, subject })) {
    if (name === undefined) continue
    const one = { ...revocation, atSeconds: at, grant: undefined, token: undefined, subject: undefined }
    await redis.eval(
      RELAY,
      3,
      REVOCATION_STREAM,
      revokedKey(kind as 'grant', name),
      relayedKey(revocation.issuer, kind as 'grant', name),
      writeRevocation({ ...one, [kind]: name }),
      seconds,
      at,
    )
  }
}
