import type { Terminal } from './terminal.ts'

export type CommandOption = {
  /** Name of the option, without the dashes. */
  readonly name: string
  /** Placeholder of the value, e.g. `DIR` or `FILE`. Undefined for a flag. */
  readonly value?: string
  readonly description: string
  readonly repeated?: boolean
  /** The valid values. Default: any text. */
  readonly choices?: readonly string[]
}

/** A complete command line. A test runs each example. */
export type CommandExample = {
  readonly commandLine: string
  readonly description: string
  /** Expected exit code. Default: 0. */
  readonly exits?: number
}

/** Arguments of a command, after `readArguments()`. */
export type ParsedArguments = {
  readonly positionals: readonly string[]
  has(name: string): boolean
  text(name: string): string | undefined
  /** Returns all values of a repeatable option, in the given order. */
  texts(name: string): readonly string[]
}

/** A command such as `scopegate check`, as data for `--help`, completion and docs/command-line.md. */
export type Command = {
  /** One or more words, e.g. `account add`. */
  readonly name: string
  /** The heading in `--help`. */
  readonly group: 'Run' | 'Policies' | 'Accounts and tokens' | 'Shell'
  /** One line in lower case without a period. */
  readonly summary: string
  readonly about?: readonly string[]
  /** The positional arguments. Undefined when the command takes options only. */
  readonly positionals?: {
    /** The arguments as a usage line shows them, e.g. `METHOD PATH` or `[PATH …]`. */
    readonly usage: string
    readonly min: number
    readonly max: number
  }
  readonly options: readonly CommandOption[]
  readonly examples: readonly [CommandExample, ...CommandExample[]]
  /** Meaning of each exit code, except 2 (wrong usage), which every command has. */
  readonly exits: Readonly<Record<number, string>>
  /** The command runs until a signal ends it. */
  readonly serves?: true
  /**
   * Loads only the code of this command and runs it.
   * @returns the exit code, or undefined when the process keeps running as a service.
   */
  run(given: ParsedArguments, terminal: Terminal): Promise<number | undefined>
}
