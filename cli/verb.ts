import type { ParsedArguments } from './read-arguments.ts'
import type { Terminal } from './terminal.ts'

/** One `--name` of a verb. */
export type VerbOption = {
  /** Without the dashes. */
  readonly name: string
  /** What its value is called, e.g. `DIR` or `FILE`; left out, the option takes none. */
  readonly value?: string
  /** A sentence for `--help`. */
  readonly says: string
  /** May be given several times, e.g. `--header`. */
  readonly repeated?: boolean
  /** The values there are; left out, any text. */
  readonly choices?: readonly string[]
}

/** A command line that works as it stands; a test runs each. */
export type VerbExample = {
  readonly command: string
  readonly says: string
  /** How it ends; left out, with 0. */
  readonly exits?: number
}

/** A verb of the command line, as data: `--help`, completion and docs/command-line.md are written from it. */
export type Verb = {
  /** One word or several, e.g. `account add`. */
  readonly name: string
  /** The heading that `--help` lists it under. */
  readonly group: 'Run' | 'Policies' | 'Accounts and tokens' | 'This command'
  /** A line without a full stop, beginning with a small letter: what it does. */
  readonly summary: string
  /** Paragraphs for its own `--help`. */
  readonly about?: readonly string[]
  /** What stands after the verb besides options; left out, nothing does. */
  readonly words?: {
    /** As in a usage line, e.g. `METHOD PATH` or `[PATH …]`. */
    readonly usage: string
    readonly min: number
    readonly max: number
  }
  readonly options: readonly VerbOption[]
  readonly examples: readonly [VerbExample, ...VerbExample[]]
  /** What its exit codes mean, beyond 2, wrong usage, which every verb has. */
  readonly exits: Readonly<Record<number, string>>
  /** It goes on until it is told to end. */
  readonly serves?: true
  /**
   * Loads its own code, and no other verb's, and runs it.
   * @returns the exit code, or undefined when the process goes on serving.
   */
  run(given: ParsedArguments, terminal: Terminal): Promise<number | undefined>
}
