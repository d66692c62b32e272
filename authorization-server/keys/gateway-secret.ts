import { randomBytes } from 'node:crypto'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import { createFileOnce, readSecretFile } from './create-file-once.ts'

const SECRET_BYTES = 32
const SHORTEST_SECRET = 16

/**
 * Reads the client secret of the gateway for introspection. In development mode, creates the file when it does not
 * exist.
 * @throws {BootError} ERR_SECRET_FILE, ERR_DATA_DIR, ERR_GATEWAY_SECRET.
 */
export async function loadGatewaySecret(options: {
  readonly file: string
  readonly development: boolean
}): Promise<string> {
  const text = options.development
    ? await createFileOnce(options.file, async () => randomBytes(SECRET_BYTES).toString('base64url'))
    : await readSecretFile(options.file, 'gatewayClient.secretFile')
  const secret = text.trim()
  if (secret.length < SHORTEST_SECRET)
    throw new BootError(
      'ERR_GATEWAY_SECRET',
      `${options.file} (gatewayClient.secretFile): the secret must be at least ${SHORTEST_SECRET} characters long.`,
      { exitCode: 3 },
    )
  return secret
}
