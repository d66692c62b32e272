import t from 'tap'
import { createNonces } from '../../../../gateway/tokens/binding/nonces.ts'

const OLD = 'o'.repeat(32)
const NEW = 'n'.repeat(32)

t.test('every secret accepts nonces, and the first one creates them', async (t) => {
  const old = createNonces(OLD)
  const nonces = createNonces(OLD)
  const issued = nonces.current(60)
  t.equal(nonces.ageOf(createNonces(NEW).current(60), 60), undefined)
  nonces.replace([OLD, NEW])
  t.equal(nonces.current(60), issued)
  t.equal(nonces.ageOf(createNonces(NEW).current(60), 60), 'previous', 'the added secret')
  nonces.replace([NEW, OLD])
  t.equal(nonces.current(60), createNonces(NEW).current(60))
  t.equal(nonces.ageOf(nonces.current(60), 60), 'current')
  t.equal(nonces.ageOf(nonces.current(60), 120), 'previous')
  t.equal(nonces.ageOf(issued, 60), 'previous', 'the client gets a nonce of the new secret')
  t.equal(nonces.ageOf(issued, 120), 'previous')
  t.equal(nonces.ageOf(issued, 180), undefined, 'after two minutes')
  nonces.replace([NEW])
  t.equal(nonces.ageOf(old.current(60), 60), undefined, 'the removed secret')
})
