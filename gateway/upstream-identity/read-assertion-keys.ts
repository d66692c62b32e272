import { createPrivateKey } from 'node:crypto'
import { ConfigError } from '../../platform/diagnostics/boot-error.ts'
import { diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { readTextFile } from '../../platform/diagnostics/yaml/read-text-file.ts'
import { type AssertionKey, toAssertionKey } from './assertion-key.ts'

const PEM = /-----BEGIN ((?:EC )?PRIVATE KEY)-----[\s\S]+?-----END \1-----/g

/**
 * Reads the private keys of `assertion.keyFile`: one or more, in PEM (RFC 7468). The first key signs.
 * @throws {ConfigError} C306. The message contains nothing from the file.
 */
export function readAssertionKeys(file: string): readonly AssertionKey[] {
  const shownAs = displayPath(file)
  const fail = (why: string): ConfigError =>
    new ConfigError([
      diagnostic('C306', `assertion.keyFile has no usable signing key: ${why}`, wholeFile(shownAs), {
        hint: 'create a key: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256',
      }),
    ])
  const read = readTextFile(file, { shownAs, letter: 'C' })
  if ('problem' in read) throw fail(read.problem.message)
  const blocks = [...read.text.matchAll(PEM)].map(([block]) => block)
  if (blocks.length === 0) throw fail('the file must contain an unencrypted private key in PEM')
  return blocks.map((block, index) => {
    const key = readKey(block)
    if (key === undefined) throw fail(`key ${index + 1} of the file is neither P-256 nor Ed25519`)
    return key
  })
}

function readKey(pem: string): AssertionKey | undefined {
  try {
    return toAssertionKey(createPrivateKey(pem))
  } catch {
    // The error message of the library may quote the key.
    return undefined
  }
}
