import t from 'tap'
import { isReplyError, replyCode } from '../../../platform/redis/is-reply-error.ts'
import {
  publisherKey,
  REVOCATION_FIELD,
  REVOCATION_STREAM,
  relayedKey,
  revokedKey,
} from '../../../platform/redis/revocation-keys.ts'

t.test('the keys in Redis have the same names in all versions', async (t) => {
  const issuer = 'https://issuer.test'
  t.strictSame(
    [
      REVOCATION_STREAM,
      REVOCATION_FIELD,
      publisherKey(issuer),
      revokedKey('grant', 'g'),
      revokedKey('token', 't'),
      relayedKey(issuer, 'subject', 's'),
    ],
    [
      '{scopegate}:revocations',
      'r',
      '{scopegate}:publishes:KjiX__GUyUJ1bWu5BFQw8Yuc151tkNEiuh1rxjxwwRU',
      '{scopegate}:revoked:grant:g',
      '{scopegate}:revoked:token:t',
      '{scopegate}:relayed:KjiX__GUyUJ1bWu5BFQw8Yuc151tkNEiuh1rxjxwwRU:subject:s',
    ],
  )
})

t.test('isReplyError() and replyCode() recognize an error reply of Redis', async (t) => {
  const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' })
  t.equal(isReplyError(reply('ERR x')), true)
  for (const other of [new Error('ERR x'), { name: 'ReplyError' }, undefined])
    t.equal(isReplyError(other), false)
  for (const [message, code] of [
    ['OOM command not allowed', 'OOM'],
    ['READONLY', 'READONLY'],
    ['lower case', 'ERR'],
    [' OOM', 'ERR'],
    ['', 'ERR'],
    ['A1', 'A'],
  ] as const)
    t.equal(replyCode(reply(message)), code)
})
