/** Shows progress to the person at the terminal. */
export function printProgress(text: string): void {
  process.stdout.write(`bench: ${text}\n`)
}
