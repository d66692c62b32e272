import { foldHeaderName } from '../../../policy-engine/match/header-kind.ts'

/** The header with which the gateway authenticates at an upstream. The value changes when its secret changes. */
export type UpstreamCredential = {
  /** Name of the header in lower case, with the separators that `foldHeaderName` returns. */
  readonly foldedName: string
  /** Name and value. Undefined: no credential is available now. */
  readonly header: readonly [name: string, value: string] | undefined
  /** Resolves at the end of the fetch in progress, also after a failure. Undefined: no fetch is in progress. */
  readonly pending: Promise<void> | undefined
  /** Time until the next fetch. Seconds, at least 1. */
  readonly retryAfterSeconds: number
  /** Returns whether a text contains the secret. */
  reveals(text: string): boolean
  /** Call this after the upstream has responded with 401. */
  rejected(): void
}

/** Returns the headers without the header of the credential, in any spelling. @param headers name, value, name, value. */
export function withoutCredential(
  headers: readonly string[],
  { foldedName }: Pick<UpstreamCredential, 'foldedName'>,
): string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] as string
    if (foldHeaderName(name.toLowerCase()) !== foldedName) kept.push(name, headers[at + 1] as string)
  }
  return kept
}
