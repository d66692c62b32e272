import type { Claims } from '../../gateway/simulate/caller-of-claims.ts'
import { readClaims } from '../../gateway/simulate/read-simulated-request.ts'
import { isRecord } from '../../platform/diagnostics/record.ts'
import type { ParsedArguments } from '../command.ts'
import { usageError } from '../failures.ts'
import { readInput, type Terminal } from '../terminal.ts'

const INPUT_LIMIT_BYTES = 65_536

export async function readSimulationClaims(
  given: ParsedArguments,
  terminal: Pick<Terminal, 'input' | 'err'>,
): Promise<{ readonly claims: Claims | undefined; readonly isCompleted: boolean }> {
  const said = ['scope', 'claim', 'token'].filter((name) => given.has(name))
  if (given.has('anonymous') && said.length > 0)
    throw usageError('explain', `--anonymous sends no token, so it excludes --${said[0]}`)
  if (said.length === 0) return { claims: undefined, isCompleted: true }
  const claims = readClaims(given.has('scope') ? given.texts('scope') : undefined, given.texts('claim'))
  if (!given.has('token')) return { claims: { scope: '', ...claims }, isCompleted: true }
  const tokenClaims = await readJwt(terminal)
  terminal.err.write('scopegate: the signature of the token was not checked\n')
  return { claims: { ...tokenClaims, ...claims }, isCompleted: false }
}

/** Reads a JWT from standard input. Error messages never contain the text, because it can be a valid token. */
async function readJwt(terminal: Pick<Terminal, 'input'>): Promise<Claims> {
  const text = (await readInput(terminal, INPUT_LIMIT_BYTES))?.trim().replace(/^bearer +/i, '')
  const [, payload, ...rest] = text?.split('.') ?? []
  if (payload === undefined || rest.length !== 1)
    throw usageError(
      'explain',
      'standard input does not contain a JWT. Only the issuer knows the claims of an opaque token: set them with --scope and --claim',
    )
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    if (isRecord(claims)) return claims as Claims
  } catch {
    // The code below reports the error.
  }
  throw usageError('explain', 'the payload of the JWT on standard input must be a JSON object')
}
