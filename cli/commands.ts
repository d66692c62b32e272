import type { Command } from './command.ts'
import { ACCOUNT_ADD } from './commands/account/command.ts'
import { ADMINISTRATION } from './commands/administration/command.ts'
import { CANARY } from './commands/canary/command.ts'
import { CHECK } from './commands/check/command.ts'
import { COMPLETION } from './commands/completion/command.ts'
import { DEV } from './commands/dev/command.ts'
import { DIFF } from './commands/diff/command.ts'
import { DOCTOR } from './commands/doctor/command.ts'
import { EXPLAIN } from './commands/explain/command.ts'
import { EXPORT_OPENAPI } from './commands/export-openapi/command.ts'
import { FMT } from './commands/fmt/command.ts'
import { IMPORT } from './commands/import/command.ts'
import { INIT } from './commands/init/command.ts'
import { KEYS_LIST, KEYS_RETIRE, KEYS_ROTATE } from './commands/keys/command.ts'
import { PLAYGROUND } from './commands/playground/command.ts'
import { ROUTES } from './commands/routes/command.ts'
import { SCHEMA } from './commands/schema/command.ts'
import { AUTHORIZATION_SERVER, GATEWAY } from './commands/services/command.ts'
import { TEST } from './commands/test/command.ts'
import { TOKEN } from './commands/token/command.ts'

/** All commands, in the order of `--help`. The data of a command does not load its implementation. */
export const COMMANDS: readonly Command[] = [
  DEV,
  GATEWAY,
  AUTHORIZATION_SERVER,
  DOCTOR,
  CANARY,
  CHECK,
  TEST,
  EXPLAIN,
  PLAYGROUND,
  ROUTES,
  DIFF,
  FMT,
  EXPORT_OPENAPI,
  IMPORT,
  SCHEMA,
  INIT,
  TOKEN,
  ACCOUNT_ADD,
  ...ADMINISTRATION,
  KEYS_LIST,
  KEYS_ROTATE,
  KEYS_RETIRE,
  COMPLETION,
]
