/** Shows progress to the person at the terminal. */
export function say(text: string): void {
  process.stdout.write(`bench: ${text}\n`)
}
