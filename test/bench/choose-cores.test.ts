import t from 'tap'
import { chooseCores } from '../../bench/choose-cores.ts'

t.test('chooseCores() keeps nothing apart when there is one processor, or no list', async (t) => {
  t.equal(chooseCores('Name:\tnode\nCpus_allowed_list:\t3\n'), undefined)
  t.equal(chooseCores('Name:\tnode\n'), undefined)
})

t.test('chooseCores() gives the server the last processor and everything else the others', async (t) => {
  t.same(chooseCores('Cpus_allowed:\t3\nCpus_allowed_list:\t0-1\n'), { server: '1', others: '0' })
  t.same(chooseCores('Cpus_allowed_list:\t0,2-4,8\n'), { server: '8', others: '0,2,3,4' })
})
