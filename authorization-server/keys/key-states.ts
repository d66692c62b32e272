import { keyId, keyType, type SigningKey, type SigningKeys, startOf } from './signing-keys.ts'

/** A signing key and its state in the rotation. Times are in seconds since the epoch. */
export type KeyState = {
  readonly kid: string
  /** Keys of one type replace each other. */
  readonly type: string
  /**
   * `next` signs later. `signs` signs now. The tokens of an `old` key can still be valid. `done`: all tokens of the key
   * have expired.
   */
  readonly state: 'next' | 'signs' | 'old' | 'done'
  readonly notBefore: number | undefined
  /**
   * Time at which another key replaces the key. Undefined: no other key replaces the key, or the file does not contain
   * the time.
   */
  readonly signsUntil: number | undefined
  /**
   * Time from which the key can be retired. Undefined: no other key replaces the key at a known time, or the key signs
   * later.
   */
  readonly retireFrom: number | undefined
}

export type RotationTime = {
  readonly nowSeconds: number
  /** Lifetime of access tokens and ID tokens. */
  readonly accessTokenSeconds: number
}

/**
 * A key stays published for this time after its last token has expired. The value is the sum of 60 s and 300 s. 60 s:
 * the clock of a server that still signs may be behind. 300 s: a server can revoke a JWT until 300 s after the expiry
 * of the JWT. Seconds.
 */
const RETIRE_MARGIN_SECONDS = 360

/** Returns the state of each key, sorted by type and then by the time from which the key signs. */
export function keyStates({ keys }: SigningKeys, time: RotationTime): readonly KeyState[] {
  const types = [...new Set(keys.map(keyType))].toSorted()
  return types.flatMap((type) =>
    statesOfType(
      keys.filter((key) => keyType(key) === type),
      time,
    ),
  )
}

function statesOfType(keys: readonly SigningKey[], time: RotationTime): readonly KeyState[] {
  const { nowSeconds } = time
  // The sort is stable. Of several active keys with one start, the first in the file signs.
  const active = keys.filter((key) => startOf(key) <= nowSeconds).toSorted((a, b) => compare(b, a))
  const signing = active[0]
  const sorted = [
    ...active.toReversed(),
    ...keys.filter((key) => startOf(key) > nowSeconds).toSorted(compare),
  ]
  return sorted.map((key) => {
    const starts = keys.map(startOf).filter((start) => start > startOf(key))
    const signsUntil = starts.length === 0 ? undefined : Math.min(...starts)
    const common = { kid: keyId(key), type: keyType(key), notBefore: key.notBefore, signsUntil }
    if (startOf(key) > nowSeconds) return { ...common, state: 'next', retireFrom: undefined }
    const retireFrom =
      signsUntil === undefined ? undefined : Math.max(key.retireAfter ?? 0, retireTime(signsUntil, time))
    if (key === signing) return { ...common, state: 'signs', retireFrom }
    const isDone = retireFrom !== undefined && retireFrom <= nowSeconds
    return { ...common, state: isDone ? 'done' : 'old', retireFrom }
  })
}

/** Returns the time from which a key can be retired when another key signs from `signsUntil`. */
export function retireTime(signsUntil: number, time: Pick<RotationTime, 'accessTokenSeconds'>): number {
  return signsUntil + time.accessTokenSeconds + RETIRE_MARGIN_SECONDS
}

/** Adds keys that sign from `signsFrom`. Writes `retireAfter` to the keys that the new keys replace. */
export function addKeys(
  set: SigningKeys,
  added: readonly SigningKey[],
  options: { readonly signsFrom: number } & RotationTime,
): SigningKeys {
  const { signsFrom } = options
  const replaced = new Set(
    keyStates(set, options).flatMap(({ kid, type, state }) =>
      state === 'signs' && added.some((key) => keyType(key) === type) ? [kid] : [],
    ),
  )
  const retireAfter = retireTime(signsFrom, options)
  return {
    ...set,
    keys: [
      ...set.keys.map((key) => (replaced.has(keyId(key)) ? { ...key, retireAfter } : key)),
      // Appends the keys, so that a server version without support for `notBefore` still signs with the earlier key.
      ...added.map((key) => ({ ...key, notBefore: signsFrom })),
    ],
  }
}

/** Removes keys. Also removes `retireAfter` from each key that no other key replaces any more. */
export function removeKeys(set: SigningKeys, kids: ReadonlySet<string>, time: RotationTime): SigningKeys {
  const left = set.keys.filter((key) => !kids.has(keyId(key)))
  const unreplaced = new Set(
    keyStates({ keys: left }, time).flatMap(({ kid, state, signsUntil }) =>
      state === 'signs' && signsUntil === undefined ? [kid] : [],
    ),
  )
  return {
    ...set,
    keys: left.map((key) => {
      if (!unreplaced.has(keyId(key))) return key
      const { retireAfter, ...rest } = key
      return rest
    }),
  }
}

/** The public keys of a running server, at one time. */
export type PublishedKeys = {
  readonly url: string
  /** The reason why the keys of the server are unknown. */
  readonly failed?: string
  readonly kids: readonly string[]
  /** The `kid` of the key that signs at the server, by the type of key. */
  readonly signs: Readonly<Record<string, string>>
  /** The clock of the server minus the clock of this process. */
  readonly clockDifferenceSeconds: number | undefined
}

/** Maximum accepted difference between the clocks of a server and of this process. Seconds. */
const MAX_CLOCK_DIFFERENCE_SECONDS = 30

/** Returns whether the clock of a server differs too much. An unknown difference counts as 0. */
export function hasWrongClock({ clockDifferenceSeconds }: PublishedKeys): boolean {
  return Math.abs(clockDifferenceSeconds ?? 0) > MAX_CLOCK_DIFFERENCE_SECONDS
}

export type RetireRefusal = {
  readonly kid: string
  readonly reason:
    | 'unknown'
    | 'signs'
    | 'starts'
    | 'tokens'
    | 'unknown_since'
    | 'server'
    | 'server_signs'
    | 'server_lacks'
    | 'clock'
  readonly url?: string
  /** Time from which the reason no longer applies. */
  readonly from?: number
}

/** The reasons that `--force` overrides. */
export const FORCEABLE: ReadonlySet<RetireRefusal['reason']> = new Set([
  'tokens',
  'unknown_since',
  'server',
  'clock',
])

/**
 * A key cannot be removed within this time before the key starts to sign. The first tokens of the key may exist before
 * each server has read the file. Seconds.
 */
const START_MARGIN_SECONDS = 60

/** Returns the reasons not to retire a key. An empty list: the key can be retired. */
export function retireRefusals(
  kid: string,
  states: readonly KeyState[],
  options: { readonly servers: readonly PublishedKeys[]; readonly nowSeconds: number },
): readonly RetireRefusal[] {
  const key = states.find((one) => one.kid === kid)
  if (key === undefined) return [{ kid, reason: 'unknown' }]
  if (key.state === 'signs') return [{ kid, reason: 'signs' }]
  const refusals: RetireRefusal[] = []
  if (key.state === 'next' && (key.notBefore ?? 0) - options.nowSeconds < START_MARGIN_SECONDS)
    refusals.push({ kid, reason: 'starts' })
  if (key.state === 'old')
    refusals.push(
      key.retireFrom === undefined
        ? { kid, reason: 'unknown_since' }
        : { kid, reason: 'tokens', from: key.retireFrom },
    )
  const signing = states.find(({ type, state }) => type === key.type && state === 'signs')
  for (const server of options.servers) {
    const { url } = server
    if (server.failed !== undefined) {
      refusals.push({ kid, reason: 'server', url })
      continue
    }
    if (server.signs[key.type] === kid) refusals.push({ kid, reason: 'server_signs', url })
    if (key.state !== 'next' && signing !== undefined && !server.kids.includes(signing.kid))
      refusals.push({ kid, reason: 'server_lacks', url })
    if (hasWrongClock(server)) refusals.push({ kid, reason: 'clock', url })
  }
  return refusals
}

function compare(a: SigningKey, b: SigningKey): number {
  return startOf(a) === startOf(b) ? 0 : startOf(a) - startOf(b)
}
