import { PUBLISH } from '../../platform/redis/publish-revocation.ts'
import type { RedisClient } from '../../platform/redis/redis-client.ts'

/**
 * Lua: writes an artifact, its pointers, and its entries in the sets of its grant and account.
 * Expiry uses the clock of Redis, because the clocks of the servers may differ.
 * `keys`: artifact, then `args[4]` sets, then pointers (uid, user code).
 * `args`: payload, time of the consumption or '', seconds to live or '', number of sets, id hash.
 * A set expires with the last of its artifacts, so the script never shortens the expiry of a set.
 * The write removes expired members from the set.
 * The first write command needs memory, so a full Redis rejects this command and the whole script.
 * After the first write, Redis rejects no further command of the script.
 */
const WRITE = `
local function write(keys, args)
  local ttl = tonumber(args[3])
  local sets = tonumber(args[4])
  local now = tonumber(redis.call('TIME')[1])
  redis.call('HSET', keys[1], 'p', args[1])
  if args[2] ~= '' then redis.call('HSETNX', keys[1], 'c', args[2]) end
  if ttl then
    ttl = math.max(1, ttl)
    redis.call('EXPIRE', keys[1], ttl)
  else
    redis.call('PERSIST', keys[1])
  end
  for i = 2, 1 + sets do
    local existed = redis.call('EXISTS', keys[i]) == 1
    local left = redis.call('TTL', keys[i])
    redis.call('ZREMRANGEBYSCORE', keys[i], '-inf', now - 1)
    redis.call('ZADD', keys[i], ttl and now + ttl or '+inf', keys[1])
    if not ttl then
      redis.call('PERSIST', keys[i])
    elseif not existed then
      redis.call('EXPIRE', keys[i], ttl)
    elseif left >= 0 then
      redis.call('EXPIRE', keys[i], math.max(left, ttl))
    end
  end
  for i = 2 + sets, #keys do
    redis.call('SET', keys[i], args[5])
    if ttl then redis.call('EXPIRE', keys[i], ttl) end
  end
end
`

/**
 * Lua: compare-and-set. Returns 1 to the one caller that consumed the artifact, and 0 if the artifact is missing or was
 * consumed before. Returns a hash tag when the artifact is in another partition of a Redis Cluster.
 */
const USE = `
local function use(key)
  local found = redis.call('HMGET', key, 'p', 'g')
  if found[2] then return found[2] end
  if not found[1] then return 0 end
  return redis.call('HSETNX', key, 'c', redis.call('TIME')[1])
end
`

/**
 * Writes an artifact. KEYS and ARGV: as in {@link WRITE}. An additional last argument is present if the key may contain
 * a pointer to another partition.
 */
const UPSERT = `${WRITE}
write(KEYS, ARGV)
if ARGV[6] then redis.call('HDEL', KEYS[1], 'g') end
return 1
`

/** Writes an artifact only if it exists. KEYS and ARGV: as in {@link WRITE}. @returns 1, or 0 without a write. */
const REPLACE = `${WRITE}
if redis.call('HEXISTS', KEYS[1], 'p') == 0 then return 0 end
write(KEYS, ARGV)
return 1
`

/**
 * Replaces the artifact in the partition of its id with a pointer to its other partition. KEYS: artifact key in the
 * partition of the id. ARGV: hash tag of the other partition, seconds to live or ''.
 * @returns the time of the consumption, or nil if the partition of the id contained no consumed artifact.
 */
const POINT = `
local consumed = redis.call('HGET', KEYS[1], 'c')
redis.call('HSET', KEYS[1], 'g', ARGV[1])
redis.call('HDEL', KEYS[1], 'p', 'c')
local ttl = tonumber(ARGV[2])
if ttl then redis.call('EXPIRE', KEYS[1], math.max(1, ttl)) else redis.call('PERSIST', KEYS[1]) end
return consumed
`

/**
 * Removes the artifact key `key` from the records of its network and address.
 * KEYS: artifact, all artifacts of the model, networks of the artifacts, number of artifacts of each network, addresses
 * of the artifacts.
 * ARGV: prefix of the lists of networks, prefix of the lists of addresses, prefix of the sets of the addresses of a
 * network.
 */
const LEAVE_SOURCE = `
local function recount(sizes, name, list)
  local size = redis.call('LLEN', list)
  if size > 0 then redis.call('ZADD', sizes, size, name) else redis.call('ZREM', sizes, name) end
end
local function leave(key)
  redis.call('ZREM', KEYS[2], key)
  local network = redis.call('HGET', KEYS[3], key)
  local address = redis.call('HGET', KEYS[5], key)
  if address then
    redis.call('HDEL', KEYS[5], key)
    redis.call('LREM', ARGV[2] .. address, 1, key)
    if network then recount(ARGV[3] .. network, address, ARGV[2] .. address) end
  end
  if network then
    redis.call('HDEL', KEYS[3], key)
    redis.call('LREM', ARGV[1] .. network, 1, key)
    recount(KEYS[4], network, ARGV[1] .. network)
  end
end
`

/**
 * Records a new artifact, and evicts as `upsertBounded` of the store contract specifies. Changes nothing for an
 * artifact that has a record.
 * Each pass of a loop removes an entry, so the loops always end. The records expire with the artifact that lives
 * longest, so the script never shortens their expiry.
 * KEYS: as in LEAVE_SOURCE. ARGV: as in LEAVE_SOURCE, hash of the network, hash of the address, seconds to live,
 * maximum per address, maximum in total.
 */
const ADMIT = `${LEAVE_SOURCE}
local function evict(key)
  leave(key)
  redis.call('DEL', key)
end
local function evictOldest(list)
  local key = redis.call('LINDEX', list, 0)
  if not key then return false end
  evict(key)
  if redis.call('LINDEX', list, 0) == key then redis.call('LPOP', list) end
  return true
end
local function largest(sizes)
  local found = redis.call('ZREVRANGE', sizes, 0, 0, 'WITHSCORES')
  return found[1] and tonumber(found[2]) > 1 and found[1]
end
local function evictFromLargest()
  local network = largest(KEYS[4])
  if not network then return evict(redis.call('ZRANGE', KEYS[2], 0, 0)[1]) end
  local addresses = ARGV[3] .. network
  local address = largest(addresses)
  if address then
    if not evictOldest(ARGV[2] .. address) then redis.call('ZREM', addresses, address) end
  elseif not evictOldest(ARGV[1] .. network) then
    redis.call('ZREM', KEYS[4], network)
  end
end
local ofNetwork = ARGV[1] .. ARGV[4]
local ofAddress = ARGV[2] .. ARGV[5]
local addresses = ARGV[3] .. ARGV[4]
local ttl = math.max(1, tonumber(ARGV[6]))
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
for _, key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 100)) do leave(key) end
if redis.call('HEXISTS', KEYS[3], KEYS[1]) == 1 then return 0 end
redis.call('ZADD', KEYS[2], now + ttl, KEYS[1])
redis.call('HSET', KEYS[3], KEYS[1], ARGV[4])
redis.call('HSET', KEYS[5], KEYS[1], ARGV[5])
redis.call('RPUSH', ofNetwork, KEYS[1])
redis.call('RPUSH', ofAddress, KEYS[1])
recount(KEYS[4], ARGV[4], ofNetwork)
recount(addresses, ARGV[5], ofAddress)
while redis.call('LLEN', ofAddress) > tonumber(ARGV[7]) do evictOldest(ofAddress) end
while redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[8]) do evictFromLargest() end
for _, key in ipairs({ KEYS[2], KEYS[3], KEYS[4], KEYS[5], ofNetwork, ofAddress, addresses }) do
  redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), ttl * 1000))
end
return 1
`

/** Deletes an artifact, and its record when its model is bounded. KEYS, ARGV: as in LEAVE_SOURCE. */
const DESTROY = `${LEAVE_SOURCE}
leave(KEYS[1])
return redis.call('DEL', KEYS[1])
`

/** Consumes an artifact. KEYS: artifact. @returns as in {@link USE}. */
const CONSUME = `${USE}
return use(KEYS[1])
`

/**
 * Consumes an artifact and writes other artifacts. KEYS: the artifact to consume, then the keys of each write. ARGV:
 * for each write, the number of its keys and its arguments, as in {@link WRITE}.
 * @returns 1 for the one caller that consumed the artifact. 0: the script wrote nothing.
 */
const EXCHANGE = `${USE}${WRITE}
if use(KEYS[1]) ~= 1 then return 0 end
local key, arg = 2, 1
while arg <= #ARGV do
  local keys, args = {}, {}
  for i = 1, tonumber(ARGV[arg]) do keys[i] = KEYS[key + i - 1] end
  for i = 1, 5 do args[i] = ARGV[arg + i] end
  write(keys, args)
  key, arg = key + #keys, arg + 6
end
return 1
`

/**
 * Claims an unused id. KEYS: artifact. ARGV: seconds until the id can be claimed again.
 * @returns 1 for the one caller that claimed the id.
 */
const CLAIM = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'p', '{}')
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1
`

/**
 * Removes every artifact of a grant and the set of the grant. Publishes the revocation if the grant had artifacts.
 * KEYS: set, stream, mark. ARGV: entry, seconds to keep the mark.
 * @returns the number of removed artifacts.
 */
const REVOKE_GRANT = `${PUBLISH}
local removed = 0
for _, key in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do removed = removed + redis.call('DEL', key) end
redis.call('DEL', KEYS[1])
if removed > 0 then publish(KEYS[2], KEYS[3], ARGV[1], ARGV[2]) end
return removed
`

/**
 * Adds an account unless its id, username or identity exists. KEYS: origin set, account, then its pointers (username,
 * identity). ARGV: id, then field and value pairs.
 */
const INSERT_ACCOUNT = `
if redis.call('EXISTS', unpack(KEYS, 2)) > 0 then return 0 end
redis.call('HSET', KEYS[2], unpack(ARGV, 2))
for i = 3, #KEYS do redis.call('SET', KEYS[i], ARGV[1]) end
redis.call('SADD', KEYS[1], ARGV[1])
return 1
`

/**
 * Sets fields of an existing account. KEYS: account. ARGV: field and value pairs. An empty value removes the field.
 * @returns 0 if the account does not exist.
 */
const SET_ACCOUNT_FIELDS = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[i])
  else
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return 1
`

/**
 * Replaces a field of an existing account (compare-and-set). KEYS: account. ARGV: field, expected value, new value. An
 * empty value means that the field is missing.
 * @returns 1 if the account exists and the field had the expected value.
 */
const REPLACE_ACCOUNT_FIELD = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1
`

/**
 * Disables an account, removes all its artifacts, and publishes the revocation. KEYS: account, set of its artifacts,
 * stream, mark. ARGV: time, entry, seconds to keep the mark, Unix time up to which the tokens of the account are revoked.
 */
const DISABLE_ACCOUNT = `${PUBLISH}
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'disabledAtSeconds', ARGV[1])
for _, key in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do redis.call('DEL', key) end
redis.call('DEL', KEYS[2])
publish(KEYS[3], KEYS[4], ARGV[2], ARGV[3], ARGV[4])
return 1
`

/**
 * Disables an account whose artifacts are in other partitions. Records that the artifacts still exist. KEYS: account,
 * set of removals. ARGV: id, time.
 */
const BEGIN_DISABLING = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'disabledAtSeconds', ARGV[2])
return 1
`

/**
 * Removes an account and all its artifacts. Publishes the revocation if the account or an artifact set existed.
 * KEYS: set of its artifacts, stream, mark, origin set, account, then its pointers (username, identity). ARGV: id,
 * entry, seconds to keep the mark, Unix time up to which the tokens of the account are revoked.
 */
const REMOVE_ACCOUNT = `${PUBLISH}
for _, key in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('DEL', key) end
redis.call('SREM', KEYS[4], ARGV[1])
local removed = redis.call('DEL', KEYS[1], unpack(KEYS, 5))
if removed > 0 then publish(KEYS[2], KEYS[3], ARGV[2], ARGV[3], ARGV[4]) end
return removed
`

/** Removes every artifact of a set, and the set. KEYS: set. @returns the number of removed artifacts. */
const REMOVE_MEMBERS = `
local removed = 0
for _, key in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do removed = removed + redis.call('DEL', key) end
redis.call('DEL', KEYS[1])
return removed
`

/**
 * Removes an account whose artifacts are in other partitions. Records that the artifacts still exist. KEYS: set of
 * removals, origin set, account, then its pointers (username, identity). ARGV: id.
 */
const BEGIN_REMOVAL = `
if redis.call('EXISTS', KEYS[3]) == 0 then return 0 end
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('SREM', KEYS[2], ARGV[1])
return redis.call('DEL', unpack(KEYS, 3))
`

/**
 * Finds the first counter at its limit. If no counter is at its limit and ARGV[1] is 1, adds 1 to all counters. KEYS:
 * set of all counters, then the counters. ARGV: 1 to count, seconds of a window, maximum number of counters, then the
 * limit of each counter.
 * @returns the place of the full counter, its remaining milliseconds, and 1 for the first rejection in the window. An
 * empty list: no counter is at its limit.
 */
const COUNT_ATTEMPT = `
for i = 2, #KEYS do
  if tonumber(redis.call('HGET', KEYS[i], 'n') or 0) >= tonumber(ARGV[i + 2]) then
    return { i - 2, redis.call('PTTL', KEYS[i]), redis.call('HSETNX', KEYS[i], 'r', 1) }
  end
end
if ARGV[1] ~= '1' then return {} end
local window = tonumber(ARGV[2])
local now = tonumber(redis.call('TIME')[1])
for i = 2, #KEYS do
  redis.call('HINCRBY', KEYS[i], 'n', 1)
  if redis.call('TTL', KEYS[i]) < 0 then
    redis.call('EXPIRE', KEYS[i], window)
    redis.call('ZADD', KEYS[1], now + window, KEYS[i])
  end
end
redis.call('EXPIRE', KEYS[1], window)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 1)
local surplus = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[3])
if surplus > 0 then
  for _, key in ipairs(redis.call('ZRANGE', KEYS[1], 0, surplus - 1)) do redis.call('DEL', key) end
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, surplus - 1)
end
return {}
`

/**
 * Removes a counter, and subtracts 1 from another counter. KEYS: set of all counters, removed counter, reduced counter.
 */
const RELEASE_ATTEMPT = `
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[1], KEYS[2])
if tonumber(redis.call('HGET', KEYS[3], 'n') or 0) > 0 then redis.call('HINCRBY', KEYS[3], 'n', -1) end
return 1
`

/**
 * Publishes a revocation. KEYS: stream, mark. ARGV: entry, seconds to keep the mark, Unix time up to which the tokens
 * are revoked.
 */
const PUBLISH_ALONE = `${PUBLISH}
publish(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
return 1
`

/**
 * Scripts by the name of their command, with the number of KEYS. If the number is absent, the caller passes the number
 * as the first argument.
 */
const SCRIPTS = {
  upsertArtifact: { lua: UPSERT },
  replaceArtifact: { lua: REPLACE },
  admitArtifact: { lua: ADMIT, numberOfKeys: 5 },
  destroyArtifact: { lua: DESTROY, numberOfKeys: 5 },
  consumeArtifact: { lua: CONSUME, numberOfKeys: 1 },
  exchangeArtifact: { lua: EXCHANGE },
  claimArtifact: { lua: CLAIM, numberOfKeys: 1 },
  revokeGrant: { lua: REVOKE_GRANT, numberOfKeys: 3 },
  insertAccount: { lua: INSERT_ACCOUNT },
  setAccountFields: { lua: SET_ACCOUNT_FIELDS, numberOfKeys: 1 },
  replaceAccountField: { lua: REPLACE_ACCOUNT_FIELD, numberOfKeys: 1 },
  disableAccount: { lua: DISABLE_ACCOUNT, numberOfKeys: 4 },
  beginDisabling: { lua: BEGIN_DISABLING, numberOfKeys: 2 },
  removeAccount: { lua: REMOVE_ACCOUNT },
  pointArtifact: { lua: POINT, numberOfKeys: 1 },
  removeMembers: { lua: REMOVE_MEMBERS, numberOfKeys: 1 },
  beginRemoval: { lua: BEGIN_REMOVAL },
  countAttempt: { lua: COUNT_ATTEMPT },
  releaseAttempt: { lua: RELEASE_ATTEMPT, numberOfKeys: 3 },
  publishRevocation: { lua: PUBLISH_ALONE, numberOfKeys: 2 },
}

type RunScript = (...keysAndArguments: readonly (string | number)[]) => Promise<unknown>

export type ScriptedRedis = RedisClient & Readonly<Record<keyof typeof SCRIPTS, RunScript>>

/**
 * Defines the scripts as commands. ioredis sends the hash of a script. If Redis does not have the script, ioredis sends
 * the text.
 */
export function defineScripts(redis: RedisClient): ScriptedRedis {
  for (const [name, script] of Object.entries(SCRIPTS)) redis.defineCommand(name, script)
  return redis as ScriptedRedis
}
