export function printProgress(text: string): void {
  process.stdout.write(`bench: ${text}\n`)
}
