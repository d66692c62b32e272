import { BootError } from './boot-error.ts'
import type { Diagnostic } from './diagnostic.ts'
import { formatDiagnostics } from './format-diagnostics.ts'

const EXIT_INVALID = 3 // `scopegate check` and every service use the same number

/** Invalid configuration or policies. The message lists every problem. Code ERR_CONFIG_INVALID, exit code 3. */
export class ConfigError extends BootError {
  readonly diagnostics: readonly Diagnostic[]

  constructor(diagnostics: readonly Diagnostic[]) {
    super('ERR_CONFIG_INVALID', formatDiagnostics(diagnostics), { exitCode: EXIT_INVALID })
    this.name = 'ConfigError'
    this.diagnostics = diagnostics
  }
}
