import {
  InvalidRequestTextError,
  readSimulatedRequest,
} from '../../gateway/simulate/read-simulated-request.ts'
import type { SimulatedRequest } from '../../gateway/simulate/simulate.ts'
import type { Mode } from '../../policy-engine/format/policy-test.ts'
import type { ParsedArguments } from '../command.ts'
import { usageError } from '../failures.ts'
import type { Terminal } from '../terminal.ts'
import { readSimulationClaims } from './read-simulation-claims.ts'

/**
 * Reads the request of `scopegate explain` from the arguments of the command.
 * @throws {BootError} ERR_USAGE when the arguments are not valid.
 */
export async function readExplainRequest(
  given: ParsedArguments,
  terminal: Pick<Terminal, 'input' | 'err'>,
): Promise<SimulatedRequest> {
  const [method = '', target = ''] = given.positionals
  const mode = given.text('mode') as Mode | undefined
  try {
    const token = await readSimulationClaims(given, terminal)
    return readSimulatedRequest({ method, target, headers: given.texts('header'), mode }, token)
  } catch (error) {
    if (!(error instanceof InvalidRequestTextError)) throw error
    throw usageError(
      'explain',
      error.field === 'method' ? error.message : `--${error.field} ${error.message}`,
    )
  }
}
