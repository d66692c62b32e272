import type { Logger } from '../../platform/logging/logger.ts'
import type { Account } from '../accounts/accounts.ts'
import type { StoredAccount } from '../store/store.ts'

/** Writes the audit line of an account that was added or removed outside a request. */
export function auditAccount(
  logger: Pick<Logger, 'info'>,
  action: 'account_added' | 'account_removed',
  { id, username }: Pick<Account, 'id' | 'username'>,
  origin: StoredAccount['origin'],
): void {
  const fields = { subject: id, username, account_origin: origin }
  logger.info({ event: 'audit', action, ...fields }, action.replaceAll('_', ' '))
}
