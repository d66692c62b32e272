import type { PublishedKeys } from '../../../authorization-server/keys/key-states.ts'
import { keyId, keyType, type SigningKey } from '../../../authorization-server/keys/signing-keys.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { isRecord } from '../../../platform/diagnostics/record.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import { createHttpClient, type HttpResponse } from '../doctor/http-client.ts'

/**
 * Reads the published keys of each server in `--url`.
 * @throws {BootError} ERR_USAGE when a value of `--url` is not an HTTP URL.
 */
export async function readServers(
  command: string,
  given: Pick<ParsedArguments, 'texts'>,
): Promise<readonly PublishedKeys[]> {
  const urls = [...new Set(given.texts('url').map((url) => url.replace(/\/+$/, '')))]
  for (const url of urls)
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
      throw usageError(command, `--url takes the URL of a server such as http://10.0.0.7:8081, not "${url}"`)
  const client = createHttpClient(undefined)
  try {
    return await Promise.all(
      urls.map(async (url) => {
        const headers = { 'user-agent': 'scopegate-keys', 'cache-control': 'no-cache' }
        const response = await client.send(url + ENDPOINTS.jwks, { headers })
        return 'failed' in response
          ? failure(url, `did not respond: ${response.failed}`)
          : toPublishedKeys(url, response, Date.now())
      }),
    )
  } finally {
    await client.close()
  }
}

function failure(url: string, failed: string): PublishedKeys {
  return { url, failed, kids: [], signs: {}, clockDifferenceSeconds: undefined }
}

/** Reads the key set of a server. The server publishes the signing key of each type before other keys of the type. */
function toPublishedKeys(url: string, response: HttpResponse, nowMs: number): PublishedKeys {
  if (response.status !== 200) return failure(url, `responded with status ${response.status}`)
  const keys = response.json?.['keys']
  if (!Array.isArray(keys) || !keys.every(isPublicKey)) return failure(url, 'responded without a key set')
  const date = Date.parse(response.header('date') ?? '')
  return {
    url,
    kids: keys.map(keyId),
    signs: Object.fromEntries(keys.map((key) => [keyType(key), keyId(key)] as const).toReversed()),
    clockDifferenceSeconds: Number.isNaN(date) ? undefined : Math.round((date - nowMs) / 1_000),
  }
}

function isPublicKey(key: unknown): key is SigningKey {
  return isRecord(key) && typeof key['kty'] === 'string' && typeof key['kid'] === 'string'
}
