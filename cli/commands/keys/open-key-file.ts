import { join, resolve } from 'node:path'
import { readKeyFile } from '../../../authorization-server/keys/change-key-file.ts'
import { parseSigningKeys, type SigningKeys } from '../../../authorization-server/keys/signing-keys.ts'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import type { ParsedArguments } from '../../command.ts'
import { readServerConfig } from '../../read-server-config.ts'
import type { Terminal } from '../../terminal.ts'

/** The key file that a command reads or changes, and the settings on which a rotation depends. */
export type KeyFile = {
  readonly file: string
  readonly accessTokenSeconds: number
  /** @throws {BootError} ERR_SIGNING_KEYS when the text is not a valid key set. */
  parse(text: string): SigningKeys
  /** @throws {BootError} ERR_SECRET_FILE or ERR_KEY_FILE when the file cannot be read. */
  read(): Promise<SigningKeys>
}

/** @throws {ConfigError} when the configuration is not valid. */
export function openKeyFile(
  given: Pick<ParsedArguments, 'text'>,
  terminal: Pick<Terminal, 'env' | 'folder' | 'err'>,
): KeyFile {
  const file = given.text('file')
  const settings = readServerConfig(given, terminal)
  const path =
    file === undefined
      ? (settings.signingKeysFile ?? join(settings.dataDir, 'signing-keys.json'))
      : resolve(terminal.folder, file)
  const parse = (text: string): SigningKeys =>
    parseSigningKeys(text, path, { algorithm: settings.accessTokens.algorithm, nowSeconds: nowSeconds() })
  return {
    file: path,
    accessTokenSeconds: settings.lifetimes.accessTokenSeconds,
    parse,
    read: async () => parse(await readKeyFile(path)),
  }
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}

/** Returns the text of a key set. Keeps unknown members of the earlier text. */
export function formatSet(earlier: string, set: SigningKeys): string {
  return `${JSON.stringify({ ...(JSON.parse(earlier) as object), ...set }, undefined, 2)}\n`
}

/** Returns the error for a change that the command does not make; exit code 1. */
export function refuse(text: string): BootError {
  return new BootError('ERR_KEYS_REFUSED', `scopegate: ${visibleText(text)}`)
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** Formats a time as ISO 8601 in UTC with whole seconds. */
export function formatTime(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
}

export function timeOrNull(seconds: number | undefined): string | null {
  return seconds === undefined ? null : formatTime(seconds)
}
