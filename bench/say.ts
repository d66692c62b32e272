/** Tells the person at the terminal what goes on. */
export function say(text: string): void {
  process.stdout.write(`bench: ${text}\n`)
}
