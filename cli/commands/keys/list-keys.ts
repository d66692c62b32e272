import { findDrafts } from '../../../authorization-server/keys/change-key-file.ts'
import {
  hasWrongClock,
  type KeyState,
  keyStates,
  type PublishedKeys,
} from '../../../authorization-server/keys/key-states.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import type { ParsedArguments } from '../../command.ts'
import { formatTable } from '../../format-table.ts'
import type { Terminal } from '../../terminal.ts'
import { count, formatTime, nowSeconds, openKeyFile, timeOrNull } from './open-key-file.ts'
import { readServers } from './read-servers.ts'

const HEADINGS = ['KID', 'ALG', 'STATE', 'SIGNS FROM', 'SIGNS UNTIL', 'RETIRE FROM']
const EXIT_DIFFERENT = 1

export async function listKeys(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const { file, read, accessTokenSeconds } = openKeyFile(given, terminal)
  const servers = await readServers('keys list', given)
  const states = keyStates(await read(), { nowSeconds: nowSeconds(), accessTokenSeconds })
  const findings = servers.flatMap((server) => findDifferences(server, states))
  if (given.has('json')) {
    const document = JSON.stringify(
      {
        file,
        keys: states.map((key) => ({
          kid: key.kid,
          alg: key.type,
          state: key.state,
          notBefore: timeOrNull(key.notBefore),
          signsUntil: timeOrNull(key.signsUntil),
          retireFrom: timeOrNull(key.retireFrom),
          publishedBy: servers.length === 0 ? null : publishers(key, servers),
        })),
        servers: servers.map((server) => ({
          url: server.url,
          failed: server.failed ?? null,
          signs: server.signs,
          clockDifferenceSeconds: server.clockDifferenceSeconds ?? null,
        })),
      },
      undefined,
      2,
    )
    terminal.out.write(`${document}\n`)
  } else terminal.out.write(renderKeys(file, states, servers))
  for (const draft of await findDrafts(file))
    terminal.err.write(
      `scopegate: ${visibleText(draft)} is left from an interrupted command and contains private keys. Remove it.\n`,
    )
  for (const finding of findings) terminal.err.write(`scopegate: ${visibleText(finding)}\n`)
  return findings.length === 0 ? 0 : EXIT_DIFFERENT
}

function publishers({ kid }: KeyState, servers: readonly PublishedKeys[]): readonly string[] {
  return servers.filter(({ kids }) => kids.includes(kid)).map(({ url }) => url)
}

function renderKeys(file: string, states: readonly KeyState[], servers: readonly PublishedKeys[]): string {
  const cells = states.map((key) => [
    key.kid,
    key.type,
    key.state,
    showTime(key.notBefore),
    showTime(key.signsUntil),
    key.state === 'old' && key.retireFrom === undefined ? 'unknown' : showTime(key.retireFrom),
    ...(servers.length === 0 ? [] : [`${publishers(key, servers).length}/${servers.length}`]),
  ])
  const headings = servers.length === 0 ? HEADINGS : [...HEADINGS, 'SERVERS']
  return `${formatTable([headings, ...cells])}\n${count(states.length, 'key')} in ${visibleText(file)}\n`
}

function showTime(seconds: number | undefined): string {
  return seconds === undefined ? '-' : formatTime(seconds)
}

function findDifferences(server: PublishedKeys, states: readonly KeyState[]): readonly string[] {
  const { url, failed, kids, signs, clockDifferenceSeconds } = server
  if (failed !== undefined) return [`${url} ${failed}`]
  const signing = states.filter(({ state }) => state === 'signs')
  const known = new Set(states.map(({ kid }) => kid))
  return [
    ...states.filter(({ kid }) => !kids.includes(kid)).map(({ kid }) => `${url} does not publish ${kid} yet`),
    ...signing
      .filter(({ kid, type }) => signs[type] !== undefined && signs[type] !== kid)
      .map(({ kid, type }) => `${url} signs ${type} with ${signs[type]}, but this file requires ${kid}`),
    ...kids
      .filter((kid) => !known.has(kid))
      .map((kid) => `${url} publishes ${kid}, which is not in this file`),
    ...(hasWrongClock(server) ? [`the clock of ${url} differs by ${clockDifferenceSeconds} s`] : []),
  ]
}
