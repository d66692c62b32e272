import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'

t.test('run() ends each process once, starting with the newest process', async (t) => {
  const ended: string[] = []
  const cleanup = createCleanup()
  cleanup.add(() => void ended.push('first'))
  cleanup.add(async () => void ended.push('second'))
  await Promise.all([cleanup.run(), cleanup.run()])
  await cleanup.run()
  t.same(ended, ['second', 'first'])
})

t.test('run() ends the other processes when one cannot be ended', async (t) => {
  const ended: string[] = []
  const cleanup = createCleanup()
  cleanup.add(() => void ended.push('first'))
  cleanup.add(() => {
    throw new Error('does not end')
  })
  await t.rejects(cleanup.run(), { message: 'does not end' })
  t.same(ended, ['first'])
})

t.test('add() ends a process immediately when it starts after run()', async (t) => {
  const ended: string[] = []
  const cleanup = createCleanup()
  await cleanup.run()
  cleanup.add(() => void ended.push('late'))
  await cleanup.run()
  t.same(ended, ['late'])
})
