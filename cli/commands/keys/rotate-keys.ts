import { changeKeyFile } from '../../../authorization-server/keys/change-key-file.ts'
import { addKeys, keyStates, retireTime } from '../../../authorization-server/keys/key-states.ts'
import {
  algorithmOf,
  GENERATED_ALGORITHMS,
  keyId,
  keyType,
  MAX_KEYS,
  makeSigningKey,
  type SigningKey,
  type SigningKeys,
} from '../../../authorization-server/keys/signing-keys.ts'
import { auditSigningKey } from '../../../authorization-server/observe/observe-events.ts'
import { parseDurationMs } from '../../../platform/diagnostics/schema/value-formats.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import { createAuditLog } from '../../../platform/logging/audit-log.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import type { Terminal } from '../../terminal.ts'
import { count, formatSet, formatTime, nowSeconds, openKeyFile, refuse, timeOrNull } from './open-key-file.ts'

/** Clients cache the published keys for 5 minutes. Servers read the file within 5 s, and their clocks may differ. */
const MIN_LEAD_MS = 360_000
const MAX_LEAD_MS = 2_592_000_000

export async function rotateKeys(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const leadSeconds = readLead(given.text('in') ?? '10m') / 1_000
  const { file, read, parse, accessTokenSeconds } = openKeyFile(given, terminal)
  const types = chooseTypes(given.texts('alg'), await read())
  // Generates the keys before the lock, because an RSA key takes up to a second.
  const generated = await Promise.all(types.map(makeSigningKey))
  let signsFrom = 0
  let added: readonly SigningKey[] = []
  await changeKeyFile(file, (text) => {
    const set = parse(text)
    const time = { nowSeconds: nowSeconds(), accessTokenSeconds }
    const waiting = keyStates(set, time).find(
      ({ state, type }) => state === 'next' && types.some((one) => one === type),
    )
    if (waiting !== undefined)
      throw refuse(
        `the key ${waiting.kid} (${waiting.type}) is already scheduled to sign from ${timeOrNull(waiting.notBefore)}. Nothing was changed.`,
      )
    if (set.keys.length + generated.length > MAX_KEYS)
      throw refuse(
        `${file} has ${set.keys.length} keys, and a file can have at most ${MAX_KEYS}, including the new keys. Retire old keys first: scopegate keys retire`,
      )
    signsFrom = time.nowSeconds + 1 + leadSeconds
    added = generated.map((key) => ({ ...key, alg: nameOfAlgorithm(set, key) }))
    const changed = formatSet(text, addKeys(set, added, { ...time, signsFrom }))
    parse(changed)
    return changed
  })
  const keys = added.map((key) => ({ kid: keyId(key), alg: keyType(key) }))
  const retireFrom = retireTime(signsFrom, { accessTokenSeconds })
  const audit = createAuditLog(createLogger({ level: 'info', service: 'scopegate' }, terminal.err))
  for (const key of keys)
    auditSigningKey(audit, 'signing_key_added', { ...key, file, not_before: formatTime(signsFrom) })
  if (given.has('json')) {
    const document = JSON.stringify(
      { file, signsFrom: formatTime(signsFrom), retireFrom: formatTime(retireFrom), added: keys },
      undefined,
      2,
    )
    terminal.out.write(`${document}\n`)
  } else terminal.out.write(describeResult(file, keys, { signsFrom, retireFrom }))
  return 0
}

function describeResult(
  file: string,
  keys: readonly { readonly kid: string; readonly alg: string }[],
  { signsFrom, retireFrom }: { readonly signsFrom: number; readonly retireFrom: number },
): string {
  const sign = keys.length === 1 ? 'It signs' : 'They sign'
  const lines = keys.map(({ kid, alg }) => `  ${alg.padEnd(7)}  ${kid}`)
  return [
    `scopegate: added ${count(keys.length, 'key')} to ${visibleText(file)}. ${sign} from ${formatTime(signsFrom)}.`,
    ...lines,
    `Before ${formatTime(signsFrom)}, check that every server publishes each new key: scopegate keys list --url URL`,
    `Retire the old keys from ${formatTime(retireFrom)}: scopegate keys retire --url URL`,
    '',
  ].join('\n')
}

/** @throws {BootError} ERR_USAGE when the duration is not within the limits. */
function readLead(text: string): number {
  const leadMs = parseDurationMs(text)
  if (leadMs === undefined)
    throw usageError('keys rotate', `--in takes a duration such as 10m, not "${text}"`)
  if (leadMs < MIN_LEAD_MS)
    throw usageError(
      'keys rotate',
      '--in must be at least 6m: clients and gateways cache the published keys for 5 minutes',
    )
  if (leadMs > MAX_LEAD_MS) throw usageError('keys rotate', '--in must be at most 30d')
  return Math.ceil(leadMs / 1_000) * 1_000
}

type GeneratedAlgorithm = (typeof GENERATED_ALGORITHMS)[number]

/** Returns the types of keys to generate. Default: each generated type that the set contains. */
function chooseTypes(chosen: readonly string[], { keys }: SigningKeys): readonly GeneratedAlgorithm[] {
  return GENERATED_ALGORITHMS.filter((type) =>
    chosen.length === 0 ? keys.some((key) => keyType(key) === type) : chosen.includes(type),
  )
}

/** An Ed25519 key gets the name of the algorithm that the set uses: `EdDSA` or `Ed25519`. */
function nameOfAlgorithm({ keys }: SigningKeys, key: SigningKey): string {
  const other = keys.find((one) => keyType(one) === keyType(key))
  return algorithmOf(other ?? key)
}
