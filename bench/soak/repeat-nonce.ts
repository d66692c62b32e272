/** Returns a text of this size that repeats one nonce. A test can then detect a byte of another nonce in the text. */
export function repeatNonce(nonce: string, bytes: number): string {
  return nonce.repeat(Math.ceil(bytes / nonce.length)).slice(0, bytes)
}
