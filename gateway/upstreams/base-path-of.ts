/** Returns the path prefix of an upstream URL, without a trailing slash. */
export function basePathOf(url: string): string {
  return new URL(url).pathname.replace(/\/$/, '')
}
