/** Returns bytes that repeat one nonce, so that a byte of another nonce is detected. */
export function repeatNonce(nonce: string, bytes: number): string {
  return nonce.repeat(Math.ceil(bytes / nonce.length)).slice(0, bytes)
}
