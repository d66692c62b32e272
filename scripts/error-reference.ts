import { ERROR_GUIDES } from '../gateway/pages/error-guides.ts'
import { table } from './schema-keys.ts'

/** Returns the tables of docs/error-responses.md, one for each sender. */
export function errorReference(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ERROR_GUIDES.map(({ sender, about, codes }) => [
      sender,
      `${about}\n\n${table(
        ['error', 'status', 'meaning', 'cause', 'remedy for clients', 'remedy for operators'],
        [...codes].map(([code, { statuses, title, causes, client, operator }]) => [
          `\`${code}\``,
          statuses.join(', '),
          title,
          ...[causes, client, operator].map((sentences) => sentences.join(' ').replaceAll('<', '\\<')),
        ]),
      )}`,
    ]),
  )
}
