import t from 'tap'
import { createAccessLog } from '../../../gateway/observability/access-log.ts'
import { unreadEntry } from '../../../gateway/observability/unread-request.ts'

const FLUSH_AT = 64 * 1024

/** An access log that counts its writes, and an entry with a known line. */
function anAccessLog() {
  const writes: string[] = []
  const log = createAccessLog({ write: (lines) => writes.push(lines), service: 'gateway', subject: 'hashed' })
  const entry = unreadEntry(
    { requestId: 'request-1', status: 400, refused: 'request_malformed', peer: '127.0.0.1' },
    1_800_000_000_000,
  )
  return { log, entry, writes }
}

t.test('add() writes immediately when 64 KiB of lines are buffered, and not before', async (t) => {
  const { log, entry, writes } = anAccessLog()
  log.add(entry)
  t.strictSame(writes, [], 'a line is buffered')
  log.flush()
  const [line = ''] = writes.splice(0)
  t.match(JSON.parse(line), { event: 'access', request_id: 'request-1' })

  const enough = Math.ceil(FLUSH_AT / line.length)
  for (let round = 0; round < 3; round += 1) {
    for (let count = 1; count < enough; count += 1) log.add(entry)
    t.equal(writes.length, round, 'one line less than 64 KiB')
    log.add(entry)
    t.equal(writes.length, round + 1)
    t.equal(writes[round], line.repeat(enough), 'whole lines, each once')
  }
  log.flush()
  t.equal(writes.length, 3, 'the buffer is empty')
})

t.test('flush() writes the buffered lines once', async (t) => {
  const { log, entry, writes } = anAccessLog()
  log.add(entry)
  log.add(entry)
  log.flush()
  log.flush()
  t.equal(writes.length, 1)
  t.equal(writes[0]?.split('\n').length, 3)
})

t.test('add() writes durations in milliseconds, rounded to microseconds', async (t) => {
  const { log, entry, writes } = anAccessLog()
  log.add({ ...entry, durationMs: 12.345_678, upstreamStatus: 200, upstreamMs: 0.000_4 })
  log.flush()
  t.match(writes[0], '"duration_ms":12.346,"upstream.status":200,"upstream.duration_ms":0,')
})
