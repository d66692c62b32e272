import type { SecretFiles } from '../../../platform/config/secret-files.ts'
import { ConfigError } from '../../../platform/diagnostics/boot-error.ts'
import { diagnostic, wholeFile } from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { readTextFile } from '../../../platform/diagnostics/yaml/read-text-file.ts'
import { foldHeaderName } from '../../../policy-engine/match/header-kind.ts'
import type { UpstreamCredential } from './credential.ts'

/** A file with a secret for an upstream, and the setting that names the file. */
export type SecretFile = { readonly file: string; readonly setting: string }

/** A credential whose value comes from a file. `secret` is the content of the file when the process started. */
export type SecretCredentialConfig = SecretFile & { readonly secret: string } & (
    | { readonly kind: 'header'; readonly name: string }
    | { readonly kind: 'basic'; readonly username: string }
  )

/** Maximum length of a secret. Servers accept at least 8 KiB of headers. Characters. */
const MAX_LENGTH = 4_096
/** Shorter secrets are not searched in responses, because they occur in other texts too. Characters. */
const SEARCHED_LENGTH = 8
/** White space at the start or the end is an error, because servers remove this white space. RFC 9110 section 5.5. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/
/** RFC 7617 section 2 excludes control characters. */
const PASSWORD = /^[^\p{Cc}]+$/u

/**
 * Reads a secret for an upstream.
 * @param parse returns the secret in the content of the file, or throws a `ConfigError`.
 * @throws {ConfigError} C315 when the file cannot be read.
 */
export function readUpstreamSecret(from: SecretFile, parse: (text: string) => string): string {
  const read = readTextFile(from.file, { shownAs: displayPath(from.file), letter: 'C' })
  if ('problem' in read) throw unusable(read.problem.message, from)
  return parse(read.text)
}

/**
 * Returns the text without one line break at its end.
 * @throws {ConfigError} C315 when the text is not a valid header value or password. The message contains no part of the
 *   text.
 */
export function parseUpstreamSecret(text: string, from: SecretFile, kind: 'header' | 'secret'): string {
  const secret = text.replace(/\r?\n$/, '')
  if (secret === '') throw unusable('the file is empty', from)
  if (/[\r\n]/.test(secret)) throw unusable('the file has more than one line', from)
  if (secret.length > MAX_LENGTH) throw unusable(`the secret is longer than ${MAX_LENGTH} characters`, from)
  if (kind === 'header' && !HEADER_VALUE.test(secret))
    throw unusable(
      'the value has a character that is not printable ASCII, or begins or ends with white space',
      from,
    )
  if (kind === 'secret' && !PASSWORD.test(secret)) throw unusable('the secret has a control character', from)
  return secret
}

function unusable(why: string, from: SecretFile): ConfigError {
  const { setting } = from
  return unusableCredential(
    why,
    from,
    `write the credential to the file in ${setting}, and grant read permission to the user of this process`,
  )
}

/** `why` contains no part of the file. */
export function unusableCredential(why: string, { file, setting }: SecretFile, hint: string): ConfigError {
  return new ConfigError([
    diagnostic('C315', `the credential for an upstream is not usable: ${why}`, wholeFile(displayPath(file)), {
      hint: hint.includes(setting) ? hint : `${setting}: ${hint}`,
    }),
  ])
}

/** Creates a credential from a file, and follows the file. */
export function openSecretCredential(
  config: SecretCredentialConfig,
  files: Pick<SecretFiles, 'follow'>,
): UpstreamCredential {
  const { file, setting, kind } = config
  const name = kind === 'header' ? config.name : 'authorization'
  let secret = config.secret
  let header = toHeader(config, name, secret)
  let current = searchedParts(secret, header)
  /** The parts of the current secret and of its predecessor, which can still be valid. */
  let searched = current
  files.follow({
    setting,
    file,
    apply(text) {
      const read = parseUpstreamSecret(text, config, kind === 'header' ? 'header' : 'secret')
      if (read === secret) return undefined
      secret = read
      header = toHeader(config, name, secret)
      const earlier = current
      current = searchedParts(secret, header)
      searched = [...current, ...earlier]
      return {}
    },
  })
  return {
    foldedName: foldHeaderName(name.toLowerCase()),
    get header() {
      return header
    },
    pending: undefined,
    retryAfterSeconds: 1,
    rejected: () => undefined,
    reveals: (text) => searched.some((part) => text.includes(part)),
  }
}

/** An upstream can repeat a credential without the scheme of `Authorization`. RFC 9110 section 11.4. */
function searchedParts(secret: string, [, value]: readonly [string, string]): readonly string[] {
  const parts = [secret, value.slice(value.indexOf(' ') + 1)]
  return parts.filter((part) => part.length >= SEARCHED_LENGTH)
}

function toHeader(config: SecretCredentialConfig, name: string, secret: string): readonly [string, string] {
  if (config.kind === 'header') return [name, secret]
  return [name, `Basic ${Buffer.from(`${config.username}:${secret}`).toString('base64')}`]
}
