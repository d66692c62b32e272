import { changeKeyFile } from '../../../authorization-server/keys/change-key-file.ts'
import {
  FORCEABLE,
  type KeyState,
  keyStates,
  type RetireRefusal,
  removeKeys,
  retireRefusals,
} from '../../../authorization-server/keys/key-states.ts'
import { auditSigningKey } from '../../../authorization-server/observe/observe-events.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import { createAuditLog } from '../../../platform/logging/audit-log.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import type { ParsedArguments } from '../../command.ts'
import type { Terminal } from '../../terminal.ts'
import { count, formatSet, formatTime, nowSeconds, openKeyFile, timeOrNull } from './open-key-file.ts'
import { readServers } from './read-servers.ts'

export async function retireKeys(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const { file, parse, accessTokenSeconds } = openKeyFile(given, terminal)
  const { out, err } = terminal
  const isForced = given.has('force')
  const servers = await readServers('keys retire', given)
  if (servers.length === 0)
    err.write(
      'scopegate: running servers were not checked. To check the servers, give --url for each server.\n',
    )
  let states: readonly KeyState[] = []
  let retired: readonly KeyState[] = []
  let refusals: readonly RetireRefusal[] = []
  await changeKeyFile(file, (text) => {
    const set = parse(text)
    const time = { nowSeconds: nowSeconds(), accessTokenSeconds }
    states = keyStates(set, time)
    const done = states.filter(({ state }) => state === 'done').map(({ kid }) => kid)
    const kids = given.positionals.length === 0 ? done : [...new Set(given.positionals)]
    refusals = kids
      .flatMap((kid) => retireRefusals(kid, states, { servers, nowSeconds: time.nowSeconds }))
      .filter(({ reason }) => !isForced || !FORCEABLE.has(reason))
    if (refusals.length > 0 || kids.length === 0) return text
    retired = states.filter(({ kid }) => kids.includes(kid))
    const changed = formatSet(text, removeKeys(set, new Set(kids), time))
    parse(changed)
    return changed
  })
  const audit = createAuditLog(createLogger({ level: 'info', service: 'scopegate' }, err))
  for (const { kid, type: alg } of retired)
    auditSigningKey(audit, 'signing_key_retired', { kid, alg, file, forced: isForced })
  if (given.has('json')) {
    const document = JSON.stringify(
      {
        file,
        retired: retired.map(({ kid, type }) => ({ kid, alg: type })),
        kept: refusals.map(({ kid, reason, url, from }) => ({
          kid,
          reason,
          url: url ?? null,
          from: timeOrNull(from),
        })),
      },
      undefined,
      2,
    )
    out.write(`${document}\n`)
  } else if (refusals.length === 0) out.write(describeResult(file, retired, states))
  for (const refusal of refusals) err.write(`scopegate: ${visibleText(describeRefusal(refusal, states))}\n`)
  if (isForced && retired.some(({ state }) => state === 'old'))
    err.write(
      'scopegate: tokens of the removed keys are rejected from now on. Gateways accept JWTs of these keys until they fetch the keys again (jwt.refresh). To end these tokens immediately, restart the gateways without the copies of keys in dataDir (docs/rotate-keys-and-secrets.md).\n',
    )
  return refusals.length === 0 ? 0 : 1
}

function describeResult(file: string, retired: readonly KeyState[], states: readonly KeyState[]): string {
  if (retired.length > 0) {
    const names = retired.map(({ kid, type }) => `${kid} (${type})`).join(', ')
    return `scopegate: retired ${count(retired.length, 'key')} of ${visibleText(file)}: ${visibleText(names)}\n`
  }
  const [first] = states
    .filter(({ state, retireFrom }) => state === 'old' && retireFrom !== undefined)
    .toSorted((a, b) => (a.retireFrom ?? 0) - (b.retireFrom ?? 0))
  const next =
    first?.retireFrom === undefined
      ? ''
      : ` You can retire ${visibleText(first.kid)} from ${formatTime(first.retireFrom)}.`
  return `scopegate: no key to retire.${next}\n`
}

function describeRefusal({ kid, reason, url, from }: RetireRefusal, states: readonly KeyState[]): string {
  const type = states.find((key) => key.kid === kid)?.type
  switch (reason) {
    case 'unknown':
      return `${kid} is not in the file`
    case 'signs':
      return `${kid} signs ${type} now. Rotate first: scopegate keys rotate`
    case 'starts':
      return `${kid} becomes the signing key in less than a minute, so its rotation can no longer be cancelled`
    case 'tokens':
      return `tokens of ${kid} can be valid until ${timeOrNull(from)}. To remove a leaked key immediately, give --force`
    case 'unknown_since':
      return `the file does not say when ${kid} stopped signing. When no token of this key is valid, give --force`
    case 'server':
      return `${url} did not return its keys, so ${kid} stays in the file. To ignore this server, give --force`
    case 'server_signs':
      return `${url} still signs ${type} with ${kid}: its file is not current or not usable (secret_unusable in its log)`
    case 'server_lacks':
      return `${url} does not publish the key that replaces ${kid}: its file is not current or not usable (secret_unusable in its log)`
    case 'clock':
      return `the clock of ${url} differs by more than 30 s, so ${kid} stays in the file. Correct the clock, or give --force`
  }
}
