import t from 'tap'
import { chooseCores } from '../../bench/choose-cores.ts'

t.test('chooseCores() returns undefined with one processor or without a list of processors', async (t) => {
  t.equal(chooseCores('Name:\tnode\nCpus_allowed_list:\t3\n'), undefined)
  t.equal(chooseCores('Name:\tnode\n'), undefined)
})

t.test(
  'chooseCores() assigns the last processor to the server and the others to all other programs',
  async (t) => {
    t.same(chooseCores('Cpus_allowed:\t3\nCpus_allowed_list:\t0-1\n'), { server: '1', others: '0' })
    t.same(chooseCores('Cpus_allowed_list:\t0,2-4,8\n'), { server: '8', others: '0,2,3,4' })
  },
)
