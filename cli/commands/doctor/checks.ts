/** The checks by name. Every finding starts with the name of its check. docs/doctor.md explains every check. */
export const CHECKS = {
  reachable: 'The base URL answers, in time, with an answer of bounded size, without a redirect.',
  transport: 'The base URL is https (or a loopback address), and plain http leads there or nowhere.',
  certificate: 'The certificate is valid for a while yet.',
  clock: 'The clock of the gateway agrees with this one to 30 seconds: tokens and proofs are judged by it.',
  'resource-metadata': 'The protected resource metadata is a JSON document of the right kind (RFC 9728).',
  resource:
    'Its `resource` is the address that clients were given, byte for byte: they throw it away otherwise.',
  'path-metadata': 'No other path has the metadata of this resource: its `resource` would be a lie there.',
  'server-metadata':
    'The authorization server describes itself twice, and says the same (RFC 8414, OpenID Connect).',
  issuer: 'The issuer in its metadata is the one that led there, byte for byte.',
  pkce: 'Both documents say S256: clients must not go on without it.',
  endpoints: 'Every advertised endpoint answers, as its kind of endpoint does.',
  scopes: 'What the resource asks for is among what the authorization server can give.',
  cors: 'Pages of other origins may read documents and answers, the challenge included.',
  challenge: 'A bad token is answered with 401 and a challenge that leads back to the metadata.',
  credentials: 'A token in the address is refused, never taken.',
} as const satisfies Readonly<Record<string, string>>

export type CheckName = keyof typeof CHECKS

/** The result of one check at one address. */
export type Finding = {
  readonly check: CheckName
  readonly level: 'ok' | 'warning' | 'fault'
  readonly where: string
  readonly says: string
  /** The recommended change. Undefined when the level is `ok`. */
  readonly cure: string | undefined
}

export type Report = {
  readonly findings: readonly Finding[]
  ok(check: CheckName, where: string, says: string): void
  warn(check: CheckName, where: string, says: string, cure: string): void
  fault(check: CheckName, where: string, says: string, cure: string): void
}

/** Creates a report. `onFinding` receives each finding immediately. */
export function createReport(onFinding: (finding: Finding) => void = () => undefined): Report {
  const findings: Finding[] = []
  const add = (
    level: Finding['level'],
    check: CheckName,
    { where, says, cure }: { where: string; says: string; cure?: string },
  ): void => {
    const finding = Object.freeze({ check, level, where, says: printable(says), cure })
    findings.push(finding)
    onFinding(finding)
  }
  return {
    findings,
    ok: (check, where, says) => add('ok', check, { where, says }),
    warn: (check, where, says, cure) => add('warning', check, { where, says, cure }),
    fault: (check, where, says, cure) => add('fault', check, { where, says, cure }),
  }
}

const SHOWN = 300

/** Removes terminal control characters from text of an untrusted server. */
function printable(text: string): string {
  const plain = text.replace(/[^\x20-\x7e\u00a0-\u200d\u2010-\u2027\u2030-\ufffd]/g, '?')
  return plain.length > SHOWN ? `${plain.slice(0, SHOWN)} ...` : plain
}
